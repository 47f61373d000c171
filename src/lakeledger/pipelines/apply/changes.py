"""How rows are matched with those of their table, and what they mean, by the parameters of AUTO CDC."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from lakeledger import codec
from lakeledger.errors import Invalid

if TYPE_CHECKING:
    from pyspark.sql import Column

# The columns that rows of a change feed have beside their own.
CHANGE_TYPE, SEQUENCE, UNSET = "_change_type", "_sequence", "_unset"
# Where values go that the table has no column for, as JSON.
RESCUED = "_rescued"


@dataclass(frozen=True)
class Changes:
    """Rows are the same if their `keys` are. Conditions and `sequence_by` are SQL over the rows, or columns of Spark.

    Of several rows with one key the newest by `sequence_by` counts; if that does not decide, the remaining columns do, so that it is
    always the same one. `apply_as_deletes` says which rows delete, `apply_as_truncates` which delete all that is older. `column_list` or
    `except_column_list` say which columns the table has. Of the columns that `unset` names (an array of names, in a column of that
    name, if the rows have it), and with `ignore_null_updates` of those that are NULL, a row says nothing: what the table has stays.
    `track_history_column_list` or `track_history_except_column_list` say for scd2 which columns make a new version of a row.
    With `quarantine`, rows without a key or a sequence are set aside; else they are refused. Who promises that rows are `unique` by their
    keys, and the same whenever they are read, saves the work to make them so. `allow_empty` lets sync empty a table.
    """

    keys: tuple[str, ...]
    sequence_by: str | Column | None = None
    apply_as_deletes: str | Column | None = None
    apply_as_truncates: str | Column | None = None
    column_list: tuple[str, ...] | None = None
    except_column_list: tuple[str, ...] | None = None
    stored_as_scd_type: Literal[1, 2] = 1
    track_history_column_list: tuple[str, ...] | None = None
    track_history_except_column_list: tuple[str, ...] | None = None
    ignore_null_updates: bool = False
    unset: str | None = None
    quarantine: bool = False
    unique: bool = False
    allow_empty: bool = False

    def __post_init__(self) -> None:
        if not self.keys:
            raise Invalid("no keys: name the columns that say which row is which, for example keys=['id']")
        folded = [codec.fold(key) for key in self.keys]
        if len(set(folded)) < len(folded):
            raise Invalid(f"keys {', '.join(self.keys)}: a column is there twice")
        if self.column_list is not None and self.except_column_list is not None:
            raise Invalid("give column_list or except_column_list, not both")
        if self.track_history_column_list is not None and self.track_history_except_column_list is not None:
            raise Invalid("give track_history_column_list or track_history_except_column_list, not both")
        if self.stored_as_scd_type not in (1, 2):
            raise Invalid(f"stored_as_scd_type is {self.stored_as_scd_type!r}: use 1, the newest row of each key, or 2, all its versions")
        tracks = self.track_history_column_list is not None or self.track_history_except_column_list is not None
        if tracks and self.stored_as_scd_type == 1:
            raise Invalid("track_history_… is for stored_as_scd_type=2: a table of type 1 keeps no history")
        for name in ("apply_as_deletes", "apply_as_truncates"):
            if getattr(self, name) is not None and self.sequence_by is None:
                raise Invalid(f"{name} needs sequence_by: without it a late row could come back after it was deleted")
        if self.stored_as_scd_type == 2 and self.sequence_by is None:
            raise Invalid("a history (scd2) needs sequence_by: it says since when each row counts")

    @property
    def mode(self) -> Literal["merge", "scd2"]:
        """The way of writing that carries them out."""
        return "merge" if self.stored_as_scd_type == 1 else "scd2"

    @classmethod
    def of_feed(cls, keys: Sequence[str], **more: Any) -> Changes:
        """How rows of a change feed are applied, which have `_change_type`, `_sequence` and perhaps `_unset` beside their own columns."""
        excepted = (*(more.pop("except_column_list", None) or ()), CHANGE_TYPE, SEQUENCE, UNSET)
        return cls(
            keys=tuple(keys),
            sequence_by=SEQUENCE,
            apply_as_deletes=f"{CHANGE_TYPE} = 'delete'",
            apply_as_truncates=f"{CHANGE_TYPE} = 'truncate'",
            except_column_list=None if more.get("column_list") is not None else excepted,
            unset=UNSET,
            quarantine=True,
            **more,
        )
