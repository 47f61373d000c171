"""Replays as people ask for them: of letters by the sources that modules declare, or of a table's letters by a function."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lakeledger import clock
from lakeledger.background import Failures
from lakeledger.control.documents import Module, TaskSource
from lakeledger.errors import Invalid, LakeledgerError, NotFound
from lakeledger.pipelines import Context, references
from lakeledger.pipelines.apply import Write
from lakeledger.pipelines.bad_rows import Limit
from lakeledger.pipelines.declared import declared_write, suite_of
from lakeledger.pipelines.reparsing import read_again, texts_of
from lakeledger.pipelines.replaying import Batch, Replayed, failed, held, replay, replay_write
from lakeledger.pipelines.sources.declared import Declared
from lakeledger.pipelines.sources.opening import open_source
from lakeledger.runs import ActiveRun, ActiveStep, DoneBy, NewStep
from lakeledger.sync import Source as SourceName

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

KIND, STEP = "backfill", "replay"
DRY_RUN = "dry-run"


@dataclass(frozen=True)
class Way:
    """How the rows of a batch are replayed: into which table and how, what makes one bad, and what makes rows of quarantined ones."""

    into: Write
    limit: Limit
    read: Callable[[DataFrame], DataFrame]
    secrets: Iterable[str] = ()


def replay_declared(context: Context, batch: Batch, modules: Sequence[Module], parameters: Mapping[str, str], *, dry_run: bool) -> Replayed:
    """Replay a batch through the load that one of the modules declares. What keeps it from that is its `error`, and the next goes on."""
    try:
        module, declared = _declared_by(modules, batch)
        values = {**module.parameters, **parameters}
        if dry_run:
            occasion = references.Occasion(module.module_name, DRY_RUN, "manual", clock.now())
            _way(context, module, _resolved(declared, occasion, values))
            return Replayed(batch.source, str(batch.table), tuple(letter.id for letter in batch.letters), batch.rows)

        def way(run: ActiveRun) -> Way:
            return _way(context, module, _resolved(declared, references.Occasion.of(run.run), values))

        return carry_out(context, batch, declared.source_id, way)
    except LakeledgerError as error:
        return replace(failed(batch, error), dry_run=dry_run)


def carry_out(context: Context, batch: Batch, name: str, way: Callable[[ActiveRun], Way]) -> Replayed:
    """Replay a batch as a run, whose only step has that name. Raises Conflict if the table's rows are being replayed, and as `load`."""
    where = batch.quarantine
    about = {"replay": batch.source or str(batch.table), "letters": len(batch.letters)}
    with context.ledger.run(str(where), kind=KIND, exclusive=True, parameters=about) as run:
        (step,) = run.plan([NewStep(name, STEP, str(batch.table), done_by=DoneBy.COMMIT)])
        secrets: Iterable[str] = ()
        try:
            with step:
                chosen = way(run)
                secrets = chosen.secrets
                done = _replay(context, batch, chosen, step)
        except Exception as error:
            details = {"sync_run_id": run.id, "step_id": step.id, "max_retries": 0, "error_details": {"letters": len(batch.letters)}}
            context.errors.log_exception(where.schema, where.table, error, secrets, **details)
            raise
    context.errors.source_succeeded(where.schema, where.table, f"run {run.id} completed")
    return done


def _replay(context: Context, batch: Batch, way: Way, step: ActiveStep) -> Replayed:
    with held(context.store, batch.letters, step.fence.run_id, Failures("replay")) as mine:
        skipped = len(batch.letters) - len(mine)
        if not mine:
            return Replayed(batch.source, str(batch.table), (), 0, dry_run=False, skipped=skipped, run_id=step.fence.run_id)
        ours = replace(batch, letters=tuple(mine))
        done = replay(context, ours, way.into, way.limit, way.read, step.fence)
    step.metadata.update({"rows": done.rows, "still_bad": done.still_bad, "letters": len(mine)})
    return replace(done, skipped=skipped)


def _declared_by(modules: Sequence[Module], batch: Batch) -> tuple[Module, Declared]:
    """The source that the letters are of. Raises NotFound or Invalid, with what to do instead."""
    by_hand = f'ledger.replay_rows("{batch.table}", function, …), which gives the quarantined rows to a function of yours'
    if batch.source is None:
        raise Invalid(
            f"the rows of {batch.quarantine} were written from Python, and the ledger does not know with which keys and sequence: "
            f"replay them with {by_hand}"
        )
    for module in modules:
        for declared in module.sources:
            if SourceName(module.module_name, declared.source_id).name == batch.source and not isinstance(declared, TaskSource):
                if declared.target_config.name != batch.table:
                    raise Invalid(
                        f"{batch.source} writes to {declared.target_config.name} now, and not to {batch.table}, which the rows are for: "
                        f"replay them with {by_hand}, or discard the letters with `lakeledger dlq discard`"
                    )
                return module, declared
    raise NotFound(
        f"no source {batch.source} is declared, by which the rows of {batch.quarantine} could be replayed: give the file that declares "
        f"it (--file) or the control table (--control); rows that Python loaded, replay with {by_hand}"
    )


def _resolved(declared: Declared, occasion: references.Occasion, parameters: Mapping[str, str]) -> Declared:
    return references.resolved(declared, references.values(occasion, declared.source_id, parameters))


def _way(context: Context, module: Module, declared: Declared) -> Way:
    name = SourceName(module.module_name, declared.source_id)
    into = replay_write(replace(declared_write(declared), source=name), name.name)

    def read(quarantined: DataFrame) -> DataFrame:
        source = open_source(context, module.module_name, declared)
        return read_again(quarantined, texts_of(context, source, declared, quarantined.sparkSession))

    suite = suite_of(context, declared)
    limit = Limit(required=declared.target_config.required_columns, rules=suite.rules if suite else ())
    return Way(into, limit, read, references.secrets_of(declared))
