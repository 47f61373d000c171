"""Rows written without Spark, a few at a time: gathered, and made one file and one commit per rotation.

`writer.py` gathers rows and acknowledges them, `rotation.py` commits what was gathered, `rows.py` brings rows to the columns of the table
(`columns.py`: which those are, `values.py`: what is in them), `files.py` makes files of them.
"""
