"""A declared source, carried out: what it does to its table follows from what the document says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from lakeledger.config import check_formats
from lakeledger.control.loads import KEYED, FilesConfig, TargetConfig
from lakeledger.pipelines import Context, bad_rows
from lakeledger.pipelines.apply import Mode, Write
from lakeledger.pipelines.apply.changes import Changes
from lakeledger.pipelines.checks.watching import checked
from lakeledger.pipelines.gates import check_gate
from lakeledger.pipelines.load import Loaded, load
from lakeledger.pipelines.naming import Naming
from lakeledger.pipelines.partitions import quote
from lakeledger.pipelines.sources import NEWS
from lakeledger.pipelines.sources.declared import Declared
from lakeledger.pipelines.sources.opening import open_source
from lakeledger.publishing import PublishedAs
from lakeledger.quality import Suite, SuiteResult
from lakeledger.quality.freshness import Sla
from lakeledger.quality.volume import DEFAULT_POLICY
from lakeledger.sync import Source as SourceName


def load_declared(context: Context, module: str, declared: Declared) -> Loaded:
    """Carry out a source of a module as the context's step. Raises as `load`."""
    check_gate(context, module, declared.source_id)
    fence = context.step.fence
    into = replace(declared_write(declared), source=SourceName(module, declared.source_id))
    limit, results = bad_rows_limit(declared), list[SuiteResult]()
    if suite := suite_of(context, declared):
        into = checked(context, into, suite, limit, fence.run_id, results.append)
    elif limit:
        into = bad_rows.watched(context, into, limit, fence.run_id)
    loaded = load(context, open_source(context, module, declared), into, fence, context.wanted or NEWS)
    return loaded.judged(results[-1]) if results else loaded


def suite_of(context: Context, declared: Declared) -> Suite | None:
    """What a declared source expects of its rows. Raises Invalid, with file:line, for a suite file that is wrong."""
    quality = declared.target_config.quality
    return quality.read(context.base, declared.source_id) if quality else None


def bad_rows_limit(declared: Declared) -> bad_rows.Limit | None:
    """How many bad rows are set aside before the load fails; None if whatever reads them fails with the first.

    A feed of changes gives what it cannot read as rows, too: not one of them may pass, unless the target says otherwise.
    """
    target = declared.target_config
    if target.bad_rows == "quarantine":
        return bad_rows.Limit(target.max_bad_rows, target.max_bad_rate, target.required_columns)
    return bad_rows.Limit(most=0) if declared.facts.get("brings_sequence") else None


def declared_write(declared: Declared) -> Write:
    """What a declared source does to its table."""
    target, work, config = declared.target_config, declared.transformation_config, declared.source_config
    mode: Mode = "sync" if work.load_type == "snapshot_diff" else declared.write_mode
    is_feed = bool(declared.facts.get("brings_sequence")) and work.load_type == "cdc"
    changes = _changes(target, is_feed=is_feed, allow_empty=work.allow_empty) if mode in ("sync", *KEYED) else None
    return Write(
        target.name,
        mode,
        format=target.format,
        partition_by=target.partition_by,
        sort_by=target.sort_by,
        evolve=target.schema_drift in ("evolve", "rescue"),
        changes=changes,
        drift=target.schema_drift,
        optional_columns=config.optional_columns if isinstance(config, FilesConfig) else (),
        naming=Naming.of_target(target),
        effects=(PublishedAs(target.name, check_formats(target.publish)),) if target.publish else (),
        volume_policy=target.volume.policy if target.volume else DEFAULT_POLICY,
        sla=Sla(target.max_age),
    )


def _sequence(columns: Sequence[str]) -> str | None:
    """The columns that order changes, as one expression, which is NULL if one of them is."""
    names = [quote(name) for name in columns]
    if len(names) <= 1:
        return "".join(names) or None
    return f"if({' or '.join(f'{name} is null' for name in names)}, null, struct({', '.join(names)}))"


def _changes(target: TargetConfig, *, is_feed: bool, allow_empty: bool) -> Changes:
    """How the rows of a target are matched, by what it declares. Rows of a feed say themselves what they mean."""
    shared: dict[str, Any] = {
        "column_list": target.column_list or None,
        "except_column_list": target.except_column_list or None,
        "stored_as_scd_type": 2 if target.declared_mode == "scd2" else 1,
        "track_history_column_list": target.track_history_column_list or None,
        "track_history_except_column_list": target.track_history_except_column_list or None,
        "ignore_null_updates": target.ignore_null_updates,
    }
    if is_feed:
        return Changes.of_feed(target.keys, **shared)
    return Changes(
        keys=target.keys,
        sequence_by=_sequence(target.sequence_by),
        apply_as_deletes=target.apply_as_deletes,
        apply_as_truncates=target.apply_as_truncates,
        allow_empty=allow_empty,
        **shared,
    )
