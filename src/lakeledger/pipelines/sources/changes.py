"""What a frame of changes looks like, whichever source it comes from: the row's columns, and these beside them.

| column | type | holds |
|---|---|---|
| `_change_type` | string | `insert`, `update`, `delete`, `truncate`, or `read` for a row of a snapshot; NULL for what could not be read |
| `_sequence` | array<bigint> | the order of the changes: of two with the same key, the greater one is the later |
| `_unset` | array<string> | columns whose values the change does not carry, such as unchanged TOAST; NULL if it has all |
| `_raw` | string | the text of what could not be read; NULL for every change |
| `_problems` | array<string> | all reasons why it could not be read; NULL for every change |

A source that always has all values and can read every change has only the first two.

Of a delete the row's columns hold what is known of the row (its key, or all of it), and of a truncate nothing; the others are NULL.
A row whose `_change_type` is NULL is no change: it is to be set aside with its `_raw` text and its `_problems`, and never applied.
"""

from __future__ import annotations

from lakeledger.pipelines.apply.changes import CHANGE_TYPE, SEQUENCE, UNSET
from lakeledger.pipelines.quarantine import PROBLEMS, RAW

__all__ = [
    "CHANGE_TYPE", "COLUMNS", "DELETE", "INSERT", "NOT_SENT", "PROBLEMS", "RAW", "READ", "SEQUENCE", "TRUNCATE", "TYPES", "UNSET", "UPDATE",
]  # fmt: skip

COLUMNS = (CHANGE_TYPE, SEQUENCE, UNSET, RAW, PROBLEMS)
# An update that gives a row another key is a deletion and an insertion, and of the old row only the key is known.
NOT_SENT = "its value was not sent with the row's new key: give the table REPLICA IDENTITY FULL"

INSERT = "insert"
UPDATE = "update"
DELETE = "delete"
TRUNCATE = "truncate"
READ = "read"

TYPES = (INSERT, UPDATE, DELETE, TRUNCATE, READ)
