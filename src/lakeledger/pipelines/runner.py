"""A module's run: level by level, each level's sources in parallel, failures contained, what waits for them SKIPPED."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from lakeledger.errors import LakeledgerError
from lakeledger.pipelines import Plane
from lakeledger.control.documents import FilesSource, Module, SqlSource
from lakeledger.pipelines.load import Loaded, load
from lakeledger.runs import ActiveRun, ActiveStep, NewStep, Status, describe

PARALLEL_STEPS = 8


@dataclass(frozen=True)
class StepResult:
    """How one source of a module went."""

    source_id: str
    target: str
    status: Status
    loaded: Loaded | None = None
    error: str | None = None


Progress = Callable[[StepResult], None]


@dataclass(frozen=True)
class ModuleResult:
    """How a module's run went."""

    module: str
    run_id: str
    steps: list[StepResult]

    @property
    def failed(self) -> list[StepResult]:
        return [step for step in self.steps if step.status == Status.FAILED]

    @property
    def rows(self) -> int:
        return sum(step.loaded.rows for step in self.steps if step.loaded)


def run_module(plane: Plane, run: ActiveRun, module: Module, base: Path, progress: Progress) -> ModuleResult:
    """Run a module's active sources inside a started run. A failing source ends the run as FAILED without raising."""
    levels = module.levels()
    sources = [source for level in levels for source in level]
    planned = dict(zip((source.source_id for source in sources), run.plan([_new_step(source) for source in sources]), strict=True))
    results: list[StepResult] = []
    for level in levels:
        steps = [(source, planned[source.source_id]) for source in level]
        missed = [result.source_id for result in results if result.status != Status.COMPLETED]
        results += _skip(steps, missed, progress) if missed else _run_level(plane, module, steps, base, progress)
    result = ModuleResult(module.module_name, run.id, results)
    if result.failed:
        run.fail(
            f"{len(result.failed)} of {len(results)} steps failed: {'; '.join(f'{step.source_id}: {step.error}' for step in result.failed)}"
        )
    return result


def _new_step(source: FilesSource | SqlSource) -> NewStep:
    type_ = source.transformation_config.task_type
    return NewStep(source.source_id, type_, str(source.target_config.name), {"execution_order": source.execution_order})


def _skip(steps: Iterable[tuple[FilesSource | SqlSource, ActiveStep]], missed: list[str], progress: Progress) -> list[StepResult]:
    reason = f"waits for {', '.join(missed)}, which did not complete"
    results = []
    for source, step in steps:
        step.skip(reason)
        results.append(StepResult(source.source_id, str(source.target_config.name), Status.SKIPPED, error=reason))
        progress(results[-1])
    return results


def _run_level(
    plane: Plane, module: Module, steps: list[tuple[FilesSource | SqlSource, ActiveStep]], base: Path, progress: Progress
) -> list[StepResult]:
    def one(item: tuple[FilesSource | SqlSource, ActiveStep]) -> StepResult:
        result = _run_step(plane, module, *item, base, progress)
        progress(result)
        return result

    with ThreadPoolExecutor(min(PARALLEL_STEPS, len(steps)), thread_name_prefix="step") as pool:
        return list(pool.map(one, steps))


def _run_step(
    plane: Plane, module: Module, source: FilesSource | SqlSource, step: ActiveStep, base: Path, progress: Progress
) -> StepResult:
    target = str(source.target_config.name)
    progress(StepResult(source.source_id, target, Status.RUNNING))
    try:
        with step:
            loaded = load(plane, module.module_name, source, base, step.fence)
            step.rows_processed = loaded.rows
            step.metadata.update(loaded.detail)
    except LakeledgerError as error:
        return StepResult(source.source_id, target, Status.FAILED, error=" ".join(str(error).split()))
    except Exception as error:  # noqa: BLE001 - the outermost loop of a step: one source must not stop the others
        return StepResult(source.source_id, target, Status.FAILED, error=describe(error))
    return StepResult(source.source_id, target, Status.COMPLETED, loaded)
