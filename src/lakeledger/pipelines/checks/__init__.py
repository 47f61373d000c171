"""Expectations carried out on Spark: counted in the one pass that writes rows, and what that cannot tell in the files just written.

`conditions.py` says it in SQL, `counting.py` what is counted, `whole.py` what needs all rows, `watching.py` watches a write, and
`standalone.py` checks a table or a DataFrame.
"""
