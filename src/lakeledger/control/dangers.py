"""Combinations that lose, double or mix up rows, each refused before Spark starts, with the reason and the fix."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from lakeledger import codec
from lakeledger.control.loads import KEYED, LoadType, TargetConfig, WriteMode


class Reads(Protocol):
    """How much of a source is read."""

    @property
    def load_type(self) -> LoadType: ...
    @property
    def watermark_column(self) -> tuple[str, ...]: ...
    @property
    def lookback(self) -> str | int | None: ...
    @property
    def allow_empty(self) -> bool: ...


@dataclass(frozen=True)
class Load:
    """What a source that loads data declares, as far as it can be dangerous. `facts` are those of its own kind of source."""

    target: TargetConfig
    work: Reads
    write_mode: WriteMode
    facts: Mapping[str, object] = field(default_factory=dict)

    @property
    def load_type(self) -> LoadType:
        return self.work.load_type

    @property
    def has_rules(self) -> bool:
        """Whether rows that break an expectation are set aside."""
        return self.target.quality is not None and self.target.quality.sets_aside

    @property
    def has_sequence(self) -> bool:
        """Whether the order of changes is known: it is declared, or the source brings its own."""
        return bool(self.target.sequence_by) or bool(self.facts.get("brings_sequence"))


@dataclass(frozen=True)
class Danger:
    """A rule: when it holds, the load is refused with this message."""

    when: Callable[[Load], bool]
    message: str


def _folded(names: Iterable[str]) -> set[str]:
    return {codec.fold(name) for name in names}


RULES: tuple[Danger, ...] = (
    Danger(
        lambda load: load.load_type == "incremental" and load.write_mode == "overwrite",
        "incremental with overwrite would keep only the newest rows: use append, merge, or load_type full",
    ),
    Danger(
        lambda load: load.load_type == "full" and load.write_mode == "append" and not load.facts.get("is_query"),
        "full with append would add every row again at each run: use overwrite, or load_type incremental",
    ),
    Danger(
        lambda load: load.write_mode in KEYED and not load.target.keys,
        "{mode} without keys cannot tell which rows are the same: name them in target_config.keys",
    ),
    Danger(
        lambda load: load.load_type == "cdc" and not load.target.keys,
        "cdc without keys cannot tell which row a change is about: name them in target_config.keys",
    ),
    Danger(
        lambda load: load.load_type == "cdc" and not load.has_sequence,
        "cdc without sequence_by lets a late change beat a newer one: name the column that orders changes in target_config.sequence_by",
    ),
    Danger(
        lambda load: load.load_type == "cdc" and load.write_mode not in ("merge", "scd2"),
        "cdc with {mode} would keep deletes and old values as rows: use merge or scd2, "
        "or load_type incremental to keep the changes themselves",
    ),
    Danger(
        lambda load: load.write_mode == "scd2" and not load.has_sequence,
        "scd2 without sequence_by has no time at which a row became valid: name that column in target_config.sequence_by",
    ),
    Danger(
        lambda load: load.load_type == "snapshot_diff" and not load.target.keys,
        "snapshot_diff without keys cannot tell which rows are gone: name them in target_config.keys",
    ),
    Danger(
        lambda load: load.load_type == "snapshot_diff" and load.write_mode != "merge",
        "snapshot_diff finds inserts, updates and deletes, which {mode} does not apply: use merge",
    ),
    Danger(
        lambda load: load.load_type == "snapshot_diff" and load.has_sequence,
        "snapshot_diff makes the table what the source is now, so a sequence has nothing to decide: "
        "take sequence_by out, or use load_type cdc",
    ),
    Danger(
        lambda load: load.load_type == "snapshot_diff" and load.target.bad_rows == "quarantine",
        "snapshot_diff would delete the rows whose new values are bad, as they are missing from the good ones: use bad_rows refuse",
    ),
    Danger(
        lambda load: load.load_type == "snapshot_diff" and load.has_rules,
        "snapshot_diff would delete the rows that a rule sets aside, as they are missing from the good ones: use action report",
    ),
    Danger(
        lambda load: (
            load.load_type == "cdc"
            and bool(load.facts.get("brings_sequence"))
            and bool(load.target.sequence_by or load.target.apply_as_deletes or load.target.apply_as_truncates)
        ),
        "this feed says itself in which order its changes come and which of them delete: take out sequence_by and apply_as_…",
    ),
    Danger(
        lambda load: load.load_type == "snapshot_diff" and bool(load.target.apply_as_deletes),
        "snapshot_diff deletes what is missing from the source, so apply_as_deletes has no rows to match: leave one of them out",
    ),
    Danger(
        lambda load: load.work.lookback not in (None, 0, "0") and not load.target.keys,
        "a lookback reads rows again, and without keys they would be there twice: name target_config.keys and use merge",
    ),
    Danger(
        lambda load: load.work.lookback not in (None, 0, "0") and load.write_mode == "append",
        "a lookback with append would add the rows that are read again: use merge or insert_only",
    ),
    Danger(
        lambda load: bool(load.work.watermark_column) and load.load_type in ("full", "snapshot_diff"),
        "a {load_type} load reads everything, so watermark_column would be ignored: take it out, or use load_type incremental",
    ),
    Danger(
        lambda load: load.work.lookback is not None and not load.work.watermark_column,
        "lookback without watermark_column has nothing to look back from: name the column that grows with every change",
    ),
    Danger(
        lambda load: (
            load.load_type in ("incremental", "cdc") and bool(load.facts.get("needs_watermark")) and not load.work.watermark_column
        ),
        "an incremental read of a database needs watermark_column: without it every row would be read again at each run",
    ),
    Danger(
        lambda load: bool(load.target.apply_as_deletes or load.target.apply_as_truncates) and load.write_mode not in ("merge", "scd2"),
        "{mode} would add the rows that apply_as_deletes or apply_as_truncates mean as deletes: use merge or scd2",
    ),
    Danger(
        lambda load: (
            bool(load.target.track_history_column_list or load.target.track_history_except_column_list) and load.write_mode != "scd2"
        ),
        "track_history columns keep no history with {mode}: use scd2, or take them out",
    ),
    Danger(
        lambda load: bool(load.target.track_history_column_list and load.target.track_history_except_column_list),
        "track_history_column_list and track_history_except_column_list exclude each other: keep one of them",
    ),
    Danger(
        lambda load: bool(load.target.column_list and load.target.except_column_list),
        "column_list and except_column_list exclude each other: keep one of them",
    ),
    Danger(
        lambda load: (
            bool(_folded(load.target.keys) & _folded(load.target.except_column_list))
            or bool(load.target.column_list and _folded(load.target.keys) - _folded(load.target.column_list))
        ),
        "the table needs its keys: take them out of except_column_list, or name them in column_list, too",
    ),
    Danger(
        lambda load: bool(_folded(load.target.keys) & _folded(load.target.sequence_by)),
        "a column of sequence_by is also a key, so every change would be a row of its own: name what identifies a row in keys",
    ),
    Danger(
        lambda load: load.write_mode == "overwrite_partitions" and not load.target.partition_by,
        "overwrite_partitions needs partition_by: name the columns, or overwrite the whole table",
    ),
    Danger(
        lambda load: load.write_mode == "overwrite_partitions" and load.load_type == "incremental",
        "incremental with overwrite_partitions would drop the rows of a partition that are not among the new ones: "
        "use merge, or load_type full",
    ),
    Danger(
        lambda load: (
            load.target.stored_as_scd_type is not None
            and load.target.write_mode is not None
            and {1: "merge", 2: "scd2"}[load.target.stored_as_scd_type] != load.target.write_mode
        ),
        "stored_as_scd_type and write_mode contradict each other: 1 is merge, 2 is scd2",
    ),
    Danger(
        lambda load: load.facts.get("changed_files") == "load" and load.write_mode == "append",
        "changed_files load with append would keep the old rows of a changed file beside its new ones: use load_type full",
    ),
    Danger(
        lambda load: load.facts.get("changed_files") == "replace" and (load.write_mode != "append" or load.load_type != "incremental"),
        "changed_files replace exchanges the rows that an incremental append brought, not those of {load_type} with {mode}: use "
        "incremental with append, or take it out (a full load reads changed files anyway, and merge finds rows by their keys)",
    ),
    Danger(
        lambda load: load.facts.get("changed_files") == "replace" and (load.target.bad_rows == "quarantine" or load.has_rules),
        "changed_files replace would leave bad rows of the old file in quarantine, and to replay them would add them beside those of the "
        "new one: use bad_rows refuse and no rule that quarantines, or changed_files refuse",
    ),
    Danger(
        lambda load: load.facts.get("changed_files") == "replace" and bool(load.facts.get("brings_sequence")),
        "changed_files replace would take back events that other rows follow from: a file of changes does not change, use refuse",
    ),
    Danger(
        lambda load: (
            load.target.bad_rows == "refuse"
            and bool(load.target.required_columns or load.target.max_bad_rows is not None or load.target.max_bad_rate is not None)
        ),
        "required_columns, max_bad_rows and max_bad_rate only mean something with bad_rows quarantine: set it, or take them out",
    ),
    Danger(
        lambda load: load.load_type == "cdc" and bool(load.facts.get("has_no_changes")),
        "an Iceberg table is read by what was added: use load_type incremental, or full",
    ),
    Danger(
        lambda load: load.load_type in ("full", "snapshot_diff") and bool(load.facts.get("has_no_whole")),
        "a topic gives only what is new, and {load_type} would take it for everything: use load_type incremental or cdc",
    ),
    Danger(
        lambda load: load.work.allow_empty and load.load_type != "snapshot_diff",
        "allow_empty only means something with snapshot_diff: take it out",
    ),
)


def dangers(load: Load) -> list[str]:
    """Every danger of a load, in words."""
    return [rule.message.format(mode=load.write_mode, load_type=load.load_type) for rule in RULES if rule.when(load)]


def shared_targets(loads: Iterable[tuple[str, Load]]) -> Iterator[tuple[str, str]]:
    """Sources, by their ids, that write a table in a way that destroys what another source of the module writes to it, and why."""
    writers: dict[str, list[tuple[str, Load]]] = {}
    for name, load in loads:
        writers.setdefault(load.target.name.key, []).append((name, load))
    for each in writers.values():
        for name, load in each if len(each) > 1 else ():
            table = str(load.target.name)
            if load.write_mode == "overwrite":
                yield name, f"{name} would overwrite what another source writes to {table}: give it its own table"
            elif load.load_type == "snapshot_diff":
                yield (
                    name,
                    f"{name} would delete what another source writes to {table}, as it is not in its snapshot: give it its own table",
                )
            elif {other.write_mode in KEYED for _, other in each} == {True, False} and load.write_mode == "append":
                yield name, f"{name} would append rows to {table} that another source merges by keys: use merge, or another table"
            elif len({frozenset(_folded(other.target.keys)) for _, other in each if other.write_mode in KEYED}) > 1:
                yield name, f"the sources of {table} name different keys: a table has one set of keys"
