"""The tasks of a module that are not loads, and how a run plays them: order, conditions, retries, time limits, cancellation."""

from __future__ import annotations

import json
import os
import stat
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from contract.making import wait_until
from lakeledger import Fenced, Invalid, Ledger
from lakeledger.control.documents import Document, Module
from lakeledger.pipelines.runner import ModuleResult, StepResult, run_module
from lakeledger.runs import Run, Status, Step

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOTHING: dict[str, Any] = {}


def task(name: str, type: str, config: dict[str, Any], **more: Any) -> dict[str, Any]:
    transformation = {"task_type": type, f"{type}_task": config}
    return {"source_id": name, "source_type": "task", "transformation_config": transformation, **more}


def call(name: str, function: str, parameters: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """A task that calls a function of steps.py."""
    return task(name, "python", {"function": f"steps:{function}", "parameters": parameters or {}}, **more)


def module(*sources: dict[str, Any], **more: Any) -> Module:
    return Module.model_validate({"module_name": "shop", "sources": list(sources), **more})


def run(ledger: Ledger, what: Module, base: Path, parameters: dict[str, Any] | None = None, **options: Any) -> ModuleResult:
    with ledger.run("shop", exclusive=True, parameters=parameters) as active:
        progress = options.pop("progress", lambda _: None)
        return run_module(ledger.context(), active, what, base, progress, **options)


def only(result: ModuleResult) -> StepResult:
    (step,) = result.steps
    return step


def error_of(result: ModuleResult) -> str:
    step = only(result)
    assert step.status == "FAILED"
    return step.error or ""


def statuses(steps: Sequence[StepResult]) -> dict[str, str]:
    return {step.source_id: step.status.value for step in steps}


def logged(ledger: Ledger, result: ModuleResult) -> list[Step]:
    return list(ledger.runs.steps(result.run_id))


def steps_py(base: Path, text: str) -> None:
    (base / "steps.py").write_text(text, encoding="utf-8")


def no_thread_left() -> bool:
    return not [thread for thread in threading.enumerate() if thread.name.startswith("step-")]


# Functions


def test_a_function_is_given_what_it_needs_and_its_facts_are_kept(ledger: Ledger, tmp_path: Path) -> None:
    steps_py(
        tmp_path,
        """\
def load(context, region, limit=5):
    assert context.ledger.runs.get(context.run.id).status == "RUNNING"
    assert context.step.name == "load"
    return {"rows": 7, "region": region, "limit": limit, "day": context.parameters["day"]}
""",
    )
    what = module(call("load", "load", {"region": "eu"}), parameters={"day": "today"})
    result = run(ledger, what, tmp_path, {"day": "monday"})
    step = only(result)
    assert (step.status, step.target, step.loaded and step.loaded.summary) == ("COMPLETED", "", "done")
    (row,) = logged(ledger, result)
    facts = {name: row.metadata[name] for name in ("region", "limit", "day")}
    assert (facts, row.rows_processed, row.step_type) == ({"region": "eu", "limit": 5, "day": "monday"}, 7, "python")
    assert row.done_by == "end", "a task may commit as often as it likes: only its end says that it is done"
    assert ledger.runs.get(result.run_id).status == "COMPLETED"


def test_a_function_that_returns_nothing_is_done(ledger: Ledger, tmp_path: Path) -> None:
    steps_py(tmp_path, "import sys\ndef nothing(context): pass\ndef leave(context): sys.exit(0)\n")
    result = run(ledger, module(call("a", "nothing"), call("b", "leave")), tmp_path)
    assert statuses(result.steps) == {"a": "COMPLETED", "b": "COMPLETED"}


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        ("steps:fail", "ValueError: no luck"),
        ("steps:leave", "task ended with 3"),
        ("steps:number", "steps:number returned int: a task returns a dict of facts"),
        ("steps:later", "steps:later is asynchronous"),
        ("steps:strange", "a fact that cannot be kept as JSON"),
        ("steps:fial", "steps has no function 'fial'; did you mean 'fail'?"),
        ("steps:NUMBER", "steps:NUMBER is no function, but int"),
        ("steps:wants", "steps:wants needs more: add that to the task's parameters"),
        ("steps:named", "steps:named needs ctx: add that to the task's parameters; what is to be given the context is called 'context'"),
        ("nowhere:x", "there is no module 'nowhere', neither in"),
        ("steps.inner:x", "there is no module 'steps.inner'"),
        ("broken:x", "No module named 'not_there_at_all'"),
        ("wrong:x", "SyntaxError"),
    ],
)
def test_a_function_that_cannot_do_its_work_says_why(ledger: Ledger, tmp_path: Path, function: str, reason: str) -> None:
    steps_py(
        tmp_path,
        """\
import sys
NUMBER = 1
def fail(context): raise ValueError("no luck")
def leave(context): sys.exit(3)
def number(context): return 1
async def later(context): return {}
def strange(context): return {"what": object()}
def wants(context, more): pass
def named(ctx): pass
""",
    )
    (tmp_path / "broken.py").write_text("import not_there_at_all\n", encoding="utf-8")
    (tmp_path / "wrong.py").write_text("def x(:\n", encoding="utf-8")
    result = run(ledger, module(task("task", "python", {"function": function})), tmp_path)
    assert reason in error_of(result)
    (row,) = logged(ledger, result)
    assert (row.status, ledger.runs.get(result.run_id).status) == ("FAILED", "FAILED")
    assert reason in (row.error_message or "")


@pytest.mark.parametrize(
    ("signature", "given", "seen"),
    [
        ("region", {"region": "eu"}, {"region": "eu"}),
        ("", {}, {}),
        ("*, region='us', context", {"region": "eu"}, {"region": "eu", "context": "Context"}),
        ("region, context=None", {"region": "eu"}, {"region": "eu", "context": "Context"}),
        ("region, **more", {"region": "eu", "limit": 1}, {"region": "eu", "more": {"limit": 1, "context": "Context"}}),
        ("region, *more", {"region": "eu"}, {"region": "eu", "more": []}),
        ("context", {"context": "mine"}, {"context": "mine"}),
    ],
)
def test_a_function_is_called_by_name_and_given_a_context_if_it_asks_for_one(
    sqlite_ledger: Ledger, tmp_path: Path, signature: str, given: dict[str, Any], seen: dict[str, Any]
) -> None:
    plain = """\
def plain(value):
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    return value if isinstance(value, (str, int, tuple)) else type(value).__name__
"""
    steps_py(tmp_path, f"{plain}def tell({signature}): return plain(dict(locals()))\n")
    result = run(sqlite_ledger, module(call("a", "tell", given)), tmp_path)
    assert only(result).error is None
    metadata = logged(sqlite_ledger, result)[0].metadata
    assert {name: metadata[name] for name in metadata if name not in ("module", "execution_order")} == seen


def test_a_parameter_that_a_function_does_not_have_is_named(sqlite_ledger: Ledger, tmp_path: Path) -> None:
    steps_py(tmp_path, "def tell(region, limit=1): pass\n")
    result = run(sqlite_ledger, module(call("a", "tell", {"regoin": "eu"})), tmp_path)
    assert error_of(result) == "steps:tell has no parameter 'regoin': it takes region, limit; did you mean 'region'?"


def test_code_that_was_changed_is_run_as_it_is_now(ledger: Ledger, tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    seen = []
    for number in (1, 2):
        (tmp_path / "parts/inner.py").write_text(f"VALUE = {number}{' ' * number}\n", encoding="utf-8")
        steps_py(tmp_path, "from parts.inner import VALUE\ndef tell(context): return {'value': VALUE}\n")
        seen.append(logged(ledger, run(ledger, module(call("a", "tell")), tmp_path))[0].metadata["value"])
    assert seen == [1, 2]


def test_each_project_has_its_own_modules(ledger: Ledger, tmp_path: Path) -> None:
    seen = []
    for name in ("one", "two", "one"):
        (tmp_path / name).mkdir(exist_ok=True)
        steps_py(tmp_path / name, f"def tell(context): return {{'project': {name!r}}}\n")
        seen.append(logged(ledger, run(ledger, module(call("a", "tell")), tmp_path / name))[0].metadata["project"])
    assert seen == ["one", "two", "one"]


# Order and conditions


WAITING = """\
from pathlib import Path
from time import monotonic
def write(context, name): (context.base / name).write_text("")
def wait_for(context, name):
    (context.base / "began").write_text("")
    ends = monotonic() + 60
    while not (context.base / name).exists() and not context.stop.wait(0.005):
        assert monotonic() < ends
def fail(context): raise ValueError("no luck")
def good(context): pass
"""


def test_a_task_starts_as_soon_as_those_it_depends_on_are_done(ledger: Ledger, tmp_path: Path) -> None:
    steps_py(tmp_path, WAITING)
    what = module(
        call("slow", "wait_for", {"name": "last was here"}),
        call("fast", "good"),
        call("last", "write", {"name": "last was here"}, depends_on=["fast"]),
    )
    assert statuses(run(ledger, what, tmp_path).steps) == {"slow": "COMPLETED", "fast": "COMPLETED", "last": "COMPLETED"}


def test_dependencies_and_levels_hold_together(ledger: Ledger, tmp_path: Path) -> None:
    steps_py(tmp_path, WAITING)
    what = module(
        call("late", "good", execution_order=2),
        call("third", "good", execution_order=1, depends_on=["second"]),
        call("second", "good", execution_order=1, depends_on=["first"]),
        call("first", "good", execution_order=1),
    )
    started: list[str] = []

    def note(step: StepResult) -> None:
        if step.status == Status.RUNNING:
            started.append(step.source_id)

    run(ledger, what, tmp_path, progress=note)
    assert started == ["first", "second", "third", "late"]


def test_conditions_decide_what_runs_after_a_failure(ledger: Ledger, tmp_path: Path) -> None:
    steps_py(tmp_path, WAITING)
    what = module(
        call("good", "good"),
        call("bad", "fail"),
        call("next", "good", depends_on=["bad"]),
        call("after_next", "good", depends_on=["next"]),
        call("alert", "good", depends_on=["after_next"], run_if="AT_LEAST_ONE_FAILED"),
        call("cleanup", "good", depends_on=["good", "bad"], run_if="ALL_DONE"),
        call("any", "good", depends_on=["good", "bad"], run_if="AT_LEAST_ONE_SUCCESS"),
        call("none", "good", depends_on=["good"], run_if="ALL_FAILED"),
        call("after_none", "good", depends_on=["none", "good"]),
        call("only_after_none", "good", depends_on=["none"]),
    )
    result = run(ledger, what, tmp_path)
    found = statuses(result.steps)
    assert {name for name, status in found.items() if status == "SKIPPED"} == {"next", "after_next", "none", "only_after_none"}
    assert {name for name, status in found.items() if status == "FAILED"} == {"bad"}
    reasons = {row.step_name: row.metadata.get("reason") for row in logged(ledger, result)}
    assert reasons["next"] == "waits for bad, which did not complete"
    assert reasons["none"] == "runs if all of good fail, and not all did"
    assert (ledger.runs.get(result.run_id).error_message or "").startswith("1 of 10 steps failed: bad: ValueError: no luck")


def test_a_thousand_tasks_in_a_row_do_not_wear_it_out(sqlite_ledger: Ledger, tmp_path: Path) -> None:
    steps_py(tmp_path, WAITING)
    rows = [call(f"t{number}", "good", depends_on=[f"t{number - 1}"], execution_order=1) for number in range(1, 1_200)]
    result = run(sqlite_ledger, module(call("t0", "fail", execution_order=1), *rows), tmp_path)
    assert [step.status for step in result.steps] == ["FAILED"] + ["SKIPPED"] * 1_199


@pytest.fixture
def sqlite_ledger(tmp_path: Path) -> Any:
    import lakeledger

    with lakeledger.open(f"sqlite:///{tmp_path}/one.db", warehouse=str(tmp_path / "w")) as opened:
        yield opened


# Retries and time limits


FLAKY = """\
def flaky(context, good_at):
    tries = context.base / "tries"
    tries.write_text(tries.read_text() + "x" if tries.exists() else "x")
    if len(tries.read_text()) < good_at:
        raise ValueError(f"try {len(tries.read_text())}")
    return {"tries": len(tries.read_text())}
"""


def test_a_task_is_tried_again_as_often_as_it_says_and_every_try_is_logged(ledger: Ledger, tmp_path: Path) -> None:
    steps_py(tmp_path, FLAKY + "def good(context): pass\n")
    what = module(call("a", "flaky", {"good_at": 3}, max_retries=2), call("b", "good", depends_on=["a"]))
    result = run(ledger, what, tmp_path)
    assert statuses(result.steps) == {"a": "COMPLETED", "b": "COMPLETED"}
    tries = [row for row in logged(ledger, result) if row.step_name == "a"]
    assert [(row.status, row.attempt) for row in tries] == [("FAILED", 1), ("FAILED", 2), ("COMPLETED", 3)]
    assert [row.error_message for row in tries] == ["ValueError: try 1", "ValueError: try 2", None]
    assert ledger.runs.get(result.run_id).status == "COMPLETED"


def test_a_task_that_fails_every_time_fails_as_the_last_time(ledger: Ledger, tmp_path: Path) -> None:
    steps_py(tmp_path, FLAKY)
    result = run(ledger, module(call("a", "flaky", {"good_at": 9}, max_retries=1, retry_seconds=0.05)), tmp_path)
    assert error_of(result) == "ValueError: try 2"
    first, second = logged(ledger, result)
    assert (second.start_time - (first.end_time or second.start_time)).total_seconds() >= 0.04


COMMITTING = """\
from contract.making import change, new_file, put
def commit_late(context):
    assert context.stop.wait(60)
    try:
        put(context.ledger, change(context.step, new_file("a")))
    except Exception as error:
        (context.base / "refused").write_text(type(error).__name__)
        raise
def good(context): pass
"""


def test_a_task_that_takes_too_long_is_given_up_and_cannot_commit_any_more(ledger: Ledger, tmp_path: Path) -> None:
    steps_py(tmp_path, COMMITTING)
    what = module(call("late", "commit_late", timeout_seconds=1), call("good", "good"), call("next", "good", depends_on=["late"]))
    result = run(ledger, what, tmp_path)
    assert statuses(result.steps) == {"late": "FAILED", "good": "COMPLETED", "next": "SKIPPED"}
    assert {step.error for step in result.failed} == {"timed out after 1 s"}
    wait_until(no_thread_left)
    assert (tmp_path / "refused").read_text() == "Fenced"
    assert ledger.tables.list() == []
    rows = {row.step_name: row for row in logged(ledger, result)}
    assert (rows["late"].status, rows["late"].error_message) == ("FAILED", "timed out after 1 s")


WRITING = """\
from contract.making import change, new_file, put
def late(context, how):
    assert context.stop.wait(60)
    try:
        match how:
            case "child run":
                with context.ledger.run("mine") as run:
                    put(context.ledger, change(run, new_file("a")))
            case "the whole run":
                put(context.ledger, change(context.run, new_file("a")))
            case "error":
                context.ledger.errors.log_exception("shop", "late", ValueError("late"))
    except Exception as error:
        (context.base / "refused").write_text(f"{type(error).__name__}: {error}")
        raise
"""


@pytest.mark.parametrize("how", ["child run", "the whole run", "error"])
def test_a_task_that_was_given_up_writes_nothing_more_whichever_way_it_tries(ledger: Ledger, tmp_path: Path, how: str) -> None:
    steps_py(tmp_path, WAITING + WRITING)
    holds_it_open = call("open", "wait_for", {"name": "refused"})
    result = run(ledger, module(call("late", "late", {"how": how}, timeout_seconds=1), holds_it_open), tmp_path)
    wait_until(no_thread_left)
    assert statuses(result.steps) == {"late": "FAILED", "open": "COMPLETED"}
    assert (tmp_path / "refused").read_text().startswith("Fenced: step late of run")
    assert "has already ended: FAILED (timed out after 1 s); nothing was committed" in (tmp_path / "refused").read_text()
    assert (ledger.tables.list(), [error.error_message for error in ledger.errors.list()]) == ([], ["timed out after 1 s"])


def test_what_a_task_begins_itself_is_part_of_its_run(ledger: Ledger, tmp_path: Path) -> None:
    steps_py(
        tmp_path,
        """\
from contract.making import change, new_file, put
def load(context):
    with context.ledger.run("inner") as inner:
        put(context.ledger, change(inner, new_file("a")))
    context.ledger.close()
    return {"inner": inner.id}
""",
    )
    result = run(ledger, module(call("load", "load")), tmp_path)
    inner = ledger.runs.get(logged(ledger, result)[0].metadata["inner"])
    assert (inner.parent_run_id, inner.status, inner.commit_count) == (result.run_id, "COMPLETED", 1)
    assert ledger.runs.get(result.run_id).status == "COMPLETED"


def test_a_module_that_takes_too_long_is_ended(ledger: Ledger, tmp_path: Path) -> None:
    steps_py(tmp_path, COMMITTING + FLAKY)
    what = module(
        call("good", "good"),
        call("late", "commit_late"),
        call("flaky", "flaky", {"good_at": 9}, max_retries=9, retry_seconds=60),
        call("next", "good", depends_on=["late"], run_if="ALL_DONE"),
        timeout_seconds=1,
    )
    result = run(ledger, what, tmp_path)
    assert statuses(result.steps) == {"good": "COMPLETED", "late": "FAILED", "flaky": "FAILED", "next": "SKIPPED"}
    assert not result.retryable
    wait_until(no_thread_left)
    assert (tmp_path / "refused").read_text() == "Fenced"
    ended = run_of(ledger, result)
    assert (ended.status, (ended.error_message or "").startswith("the module timed out after 1 s; 2 of 4 steps failed: ")) == (
        "FAILED",
        True,
    )
    reasons = {row.step_name: row.error_message or row.metadata.get("reason") for row in logged(ledger, result)}
    assert (reasons["late"], reasons["next"]) == ("the module timed out after 1 s", "the run ended: FAILED")


def test_what_a_module_that_takes_too_long_did_not_reach_is_not_done_until_the_run_has_ended(ledger: Ledger, tmp_path: Path) -> None:
    """Should its worker be lost in between, the run is not taken for one that has done its work."""
    steps_py(tmp_path, COMMITTING)
    seen: list[str] = []

    def look(step: StepResult) -> None:
        if step.status == "SKIPPED":
            (active,) = ledger.runs.list(status="RUNNING")
            seen.extend(each.status for each in ledger.runs.steps(active.id) if each.step_name == step.source_id)

    what = module(call("late", "commit_late"), call("next", "good", depends_on=["late"], run_if="ALL_DONE"), timeout_seconds=1)
    result = run(ledger, what, tmp_path, progress=look)
    assert (seen, [step.status for step in logged(ledger, result)]) == (["PENDING"], ["FAILED", "SKIPPED"])


def test_a_task_that_took_too_long_is_not_started_again_while_it_may_be_at_work(ledger: Ledger, tmp_path: Path) -> None:
    steps_py(tmp_path, "def slow(context): assert context.stop.wait(60)\n")
    result = run(ledger, module(call("a", "slow", timeout_seconds=1, max_retries=1)), tmp_path)
    assert error_of(result) == "timed out after 1 s"
    assert [row.status for row in logged(ledger, result)] == ["FAILED"]
    assert not result.retryable
    wait_until(no_thread_left)


@pytest.mark.parametrize(
    "source",
    [
        task("a", "python", {"function": "nowhere:x"}),
        task("a", "python", {"function": "steps:fail", "parameters": {"nothing": 1}}),
        task("a", "notebook", {"notebook_path": "nowhere"}),
        task("a", "python_wheel", {"package_name": "nowhere", "entry_point": "x"}),
        task("a", "python", {"function": "steps:forbidden"}),
    ],
    ids=["no module", "no parameter", "no notebook", "no package", "not allowed"],
)
def test_a_task_that_is_set_up_wrong_is_not_tried_again(sqlite_ledger: Ledger, tmp_path: Path, source: dict[str, Any]) -> None:
    steps_py(tmp_path, "from lakeledger import Forbidden\ndef fail(): pass\ndef forbidden(): raise Forbidden('not yours')\n")
    result = run(sqlite_ledger, module({**source, "max_retries": 2}), tmp_path)
    assert error_of(result)
    assert [row.attempt for row in logged(sqlite_ledger, result)] == [1]
    assert not result.retryable


def test_a_conflict_is_tried_again(sqlite_ledger: Ledger, tmp_path: Path) -> None:
    steps_py(tmp_path, FLAKY.replace("ValueError(", "Conflict(").replace("def flaky", "from lakeledger import Conflict\ndef flaky"))
    result = run(sqlite_ledger, module(call("a", "flaky", {"good_at": 3}, max_retries=2)), tmp_path)
    assert [(row.status, row.attempt) for row in logged(sqlite_ledger, result)] == [("FAILED", 1), ("FAILED", 2), ("COMPLETED", 3)]


# Cancellation


@contextmanager
def once_it_began(folder: Path, action: Callable[[], object]) -> Iterator[None]:
    """Do something, in another thread, when the task that waits is under way."""

    def act() -> None:
        wait_until((folder / "began").exists)
        action()

    thread = threading.Thread(target=act)
    thread.start()
    yield
    thread.join()


def test_a_run_that_somebody_cancels_stops_and_starts_nothing_more(ledger: Ledger, tmp_path: Path) -> None:
    steps_py(tmp_path, WAITING)
    what = module(call("waits", "wait_for", {"name": "never"}), call("next", "good", depends_on=["waits"]))

    cancel = lambda: ledger.runs.cancel(ledger.runs.list()[0].id, "enough")  # noqa: E731
    with once_it_began(tmp_path, cancel), pytest.raises(Fenced, match="has already ended: CANCELLED"):
        run(ledger, what, tmp_path)
    assert no_thread_left()
    ended = ledger.runs.list()[0]
    assert (ended.status, ended.error_message) == ("CANCELLED", "enough")
    assert [row.status for row in ledger.runs.steps(ended.id)] == ["CANCELLED", "SKIPPED"]


def test_a_run_that_is_told_to_stop_is_cancelled(ledger: Ledger, tmp_path: Path) -> None:
    steps_py(tmp_path, WAITING)
    stop = threading.Event()
    what = module(call("waits", "wait_for", {"name": "never"}), call("next", "good", depends_on=["waits"]))
    with once_it_began(tmp_path, stop.set), pytest.raises(Fenced, match="CANCELLED"):
        run(ledger, what, tmp_path, stop=stop)
    assert no_thread_left()
    ended = ledger.runs.list()[0]
    assert (ended.status, ended.error_message) == ("CANCELLED", "it was stopped")
    assert [row.status for row in ledger.runs.steps(ended.id)] == ["CANCELLED", "SKIPPED"]


def test_a_run_that_is_told_to_stop_before_it_began_starts_nothing(ledger: Ledger, tmp_path: Path) -> None:
    stop = threading.Event()
    stop.set()
    with pytest.raises(Fenced):
        run(ledger, module(call("a", "good")), tmp_path, stop=stop)
    assert [row.status for row in ledger.runs.steps(ledger.runs.list()[0].id)] == ["SKIPPED"]


# References


def test_a_document_runs_what_is_active_and_is_refused_if_nothing_is(ledger: Ledger, tmp_path: Path) -> None:
    steps_py(tmp_path, "def go(): pass\n")
    off = module(call("a", "go", is_active=False))
    on = off.model_copy(update={"module_name": "on", "sources": module(call("a", "go")).sources})
    assert [result.module for result in ledger.run_modules(Document(modules=[off, on]), tmp_path)] == ["on"]
    with pytest.raises(Invalid, match="module shop has nothing to run: a is switched off"):
        ledger.run_modules(Document(modules=[off]), tmp_path)
    assert [run.pipeline_id for run in ledger.runs.list()] == ["on"]


def test_parameters_and_the_run_can_be_referred_to(ledger: Ledger, tmp_path: Path) -> None:
    steps_py(tmp_path, "def tell(context, **words): return words\n")
    words = {"day": "d-{{job.parameters.day}}", "inner": ["{{ job.name }}"], "run": "{{job.run_id}}", "who": "{{task.name}}", "n": 3}
    what = module(call("a", "tell", {**words, "date": "{{job.start_time.iso_date}}"}), parameters={"day": "today"})
    result = run(ledger, what, tmp_path, {"day": "monday"})
    (row,) = logged(ledger, result)
    ended = ledger.runs.get(result.run_id)
    assert {name: row.metadata[name] for name in words} == {"day": "d-monday", "inner": ["shop"], "run": ended.id, "who": "a", "n": 3}
    assert row.metadata["date"] == ended.start_time.date().isoformat()


def test_a_reference_that_leads_nowhere_is_named(ledger: Ledger, tmp_path: Path) -> None:
    steps_py(tmp_path, "def tell(context, **words): return words\n")
    what = module(call("a", "tell", {"day": "{{job.parameters.dya}}"}), parameters={"day": "today"})
    error = error_of(run(ledger, what, tmp_path))
    assert "{{job.parameters.dya}} leads nowhere" in error
    assert "did you mean 'job.parameters.day'?" in error


def test_a_secret_comes_from_the_environment_of_whoever_runs_the_task(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps_py(tmp_path, "def connect(url): return {'length': len(url)}\n")
    what = module(call("a", "connect", {"url": "postgresql://ann:{{env.DB_CANARY}}@host/db"}))
    assert "{{env.DB_CANARY}} leads nowhere: set the variable DB_CANARY where the task runs" in error_of(run(ledger, what, tmp_path))
    monkeypatch.setenv("DB_CANARY", "hunter2")
    (row,) = logged(ledger, run(ledger, what, tmp_path))
    assert row.metadata["length"] == len("postgresql://ann:hunter2@host/db")


# Programs


def test_an_entry_point_of_a_wheel_is_called_with_its_words(ledger: Ledger, tmp_path: Path) -> None:
    what = module(
        task("version", "python_wheel", {"package_name": "lakeledger", "entry_point": "lakeledger", "parameters": ["version", "--json"]})
    )
    result = run(ledger, what, tmp_path)
    assert only(result).error is None
    (row,) = logged(ledger, result)
    assert "lakeledger" in json.loads("".join(row.metadata["output"]))["version"]


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({"package_name": "not-installed-at-all", "entry_point": "main"}, "not-installed-at-all is not installed: pip install it"),
        ({"package_name": "lakeledger", "entry_point": "lakeledger", "parameters": ["nonsense"]}, "ended with 2: "),
        ({"package_name": "lakeledger", "entry_point": "no_such_function"}, "no_such_function"),
        ({"package_name": "lakeledger", "entry_point": "lakeledger", "named_parameters": {"nonsense": "1"}}, "--nonsense"),
    ],
)
def test_a_wheel_that_cannot_do_its_work_says_why(ledger: Ledger, tmp_path: Path, config: dict[str, Any], reason: str) -> None:
    assert reason in error_of(run(ledger, module(task("wheel", "python_wheel", config)), tmp_path))


def program(folder: Path, name: str, script: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}", encoding="utf-8")
    (folder / name).chmod(stat.S_IRWXU)


def test_the_commands_of_dbt_run_in_its_project_until_one_fails(ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(
        tmp_path / "bin",
        "dbt",
        'echo "$(basename $PWD) $DBT_PROFILES_DIR: $@"\n[ "$1" != fail ] || { echo "Compilation Error"; exit 2; }\n',
    )
    monkeypatch.setenv("PATH", f"{tmp_path}/bin{os.pathsep}{os.environ['PATH']}")
    (tmp_path / "models").mkdir()
    config = {"project_directory": "models", "profiles_directory": "profiles", "commands": ["dbt deps", "dbt run --select 'a b'"]}
    (row,) = logged(ledger, run(ledger, module(task("dbt", "dbt", config)), tmp_path))
    assert row.metadata["output"] == [f"models {tmp_path}/profiles: deps", f"models {tmp_path}/profiles: run --select a b"]
    failing = {**config, "commands": ["dbt fail", "dbt run"]}
    assert "dbt ended with 2: Compilation Error" in error_of(run(ledger, module(task("dbt", "dbt", failing)), tmp_path))
    other = {**config, "commands": ["rm -rf /"]}
    assert "'rm -rf /' is no command of dbt" in error_of(run(ledger, module(task("dbt", "dbt", other)), tmp_path))
    lost = {**config, "project_directory": "nowhere"}
    assert "cannot start dbt in" in error_of(run(ledger, module(task("dbt", "dbt", lost)), tmp_path))


def test_without_dbt_it_is_said_what_to_install(ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "pip install dbt-core" in error_of(run(ledger, module(task("dbt", "dbt", {"commands": ["dbt run"]})), tmp_path))


def test_a_program_that_takes_too_long_is_ended_with_all_it_started(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path / "bin", "dbt", "sleep 600 &\necho $! > pids\necho $$ >> pids\nwait\n")
    monkeypatch.setenv("PATH", f"{tmp_path}/bin{os.pathsep}{os.environ['PATH']}")
    result = run(ledger, module(task("dbt", "dbt", {"commands": ["dbt run"]}, timeout_seconds=1)), tmp_path)
    assert error_of(result) == "timed out after 1 s"
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    assert len(pids) == 2
    wait_until(no_thread_left)
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() and "Z" not in state(pid) for pid in pids))


def state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


def test_a_jar_is_submitted_to_the_master_of_the_settings(sqlite_ledger: Ledger, tmp_path: Path) -> None:
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    (jar,) = (Path(spec.origin).parent / "jars").glob("hadoop-client-api-*.jar")
    config = {"main_class_name": "org.apache.hadoop.util.VersionInfo", "jar_uri": str(jar)}
    result = run(sqlite_ledger, module(task("jar", "spark_jar", config)), tmp_path)
    assert only(result).error is None
    assert any("Hadoop" in line for line in logged(sqlite_ledger, result)[0].metadata["output"])


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({"main_class_name": "com.example.Main"}, "has no jar_uri: name its JAR, or deploy it to Databricks"),
        ({"main_class_name": "com.example.Main", "jar_uri": "nowhere.jar"}, "nowhere.jar: check jar_uri"),
    ],
)
def test_a_jar_that_is_not_there_is_refused(ledger: Ledger, tmp_path: Path, config: dict[str, str], reason: str) -> None:
    assert reason in error_of(run(ledger, module(task("jar", "spark_jar", config)), tmp_path))


def test_spark_connect_takes_no_jar(ledger: Ledger, tmp_path: Path) -> None:
    ledger.settings = replace(ledger.settings, spark=replace(ledger.settings.spark, remote="sc://somewhere"))
    config = {"main_class_name": "com.example.Main", "jar_uri": "a.jar"}
    assert "deploy it to Databricks" in error_of(run(ledger, module(task("jar", "spark_jar", config)), tmp_path))


def test_a_pipeline_runs_on_databricks_only(ledger: Ledger, tmp_path: Path) -> None:
    assert "runs on Databricks only" in error_of(run(ledger, module(task("dlt", "pipeline", {"pipeline_id": "abc"})), tmp_path))


# Notebooks


NOTEBOOK = """\
# Databricks notebook source
# MAGIC %md
# MAGIC # A title

# COMMAND ----------

dbutils.widgets.text("day", "none")
dbutils.widgets.text("region", "eu")
day = dbutils.widgets.get("day")

# COMMAND ----------

def told():
    return f"{day} {dbutils.widgets.get('region')} {context.step.name}"

dbutils.notebook.exit(told())
raise AssertionError("not reached")
"""


@pytest.mark.parametrize("path", ["notebooks/report", "notebooks/report.py"])
def test_a_notebook_runs_with_its_parameters(ledger: Ledger, tmp_path: Path, path: str) -> None:
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks/report.py").write_text(NOTEBOOK, encoding="utf-8")
    what = module(task("report", "notebook", {"notebook_path": path, "base_parameters": {"day": "monday"}}))
    result = run(ledger, what, tmp_path)
    assert only(result).error is None
    assert logged(ledger, result)[0].metadata["exit"] == "monday eu report"


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("n.py", "x = 1\n# COMMAND ----------\n# MAGIC %sql select 1\n", "cell 2 of n.py begins with %sql: here only Python cells run"),
        ("n.py", "x = 1\n\nif:\n", "n.py:3: invalid syntax"),
        ("n.py", "dbutils.widgets.get('day')\n", "the notebook has no parameter 'day': it has none"),
        ("n.py", "1 / 0\n", "ZeroDivisionError"),
        ("n.ipynb", "{}", "n is an .ipynb notebook: export it as a source file"),
        ("other.py", "", "there is no notebook n in"),
    ],
)
def test_a_notebook_that_cannot_run_here_says_why(ledger: Ledger, tmp_path: Path, name: str, text: str, reason: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert reason in error_of(run(ledger, module(task("n", "notebook", {"notebook_path": "n"})), tmp_path))


# With Spark


def test_a_function_writes_through_the_ledger_in_its_own_step(lake: Ledger, tmp_path: Path) -> None:
    steps_py(
        tmp_path,
        """\
from pyspark.sql import functions as F
def shout(word): return word.upper()
def load(context):
    frame = context.spark.sql("select 'a' as word").select(F.udf(shout)("word").alias("word"))
    context.ledger.append(frame, "words", run=context.step)
    context.ledger.append(frame, "words")
    return {"version": context.ledger.overwrite(context.ledger.read("words"), "copies", run=context.run).version}
""",
    )
    result = run(lake, module(call("load", "load")), tmp_path)
    assert only(result).error is None
    assert [row.word for row in lake.read("words").collect()] == ["A", "A"]
    (row,) = logged(lake, result)
    assert (row.metadata["version"], row.target_table, row.committed_at is not None) == (1, "main.words", True)
    assert (row.rows_processed, result.rows) == (4, 4)
    (only_run,) = lake.runs.list()
    assert (only_run.id, only_run.commit_count, only_run.records_processed) == (result.run_id, 3, 4)


def test_the_rows_of_commits_count_unless_a_task_says_otherwise_on_purpose(sqlite_lake: Ledger, tmp_path: Path) -> None:
    steps_py(
        tmp_path,
        """\
def load(context, given):
    context.ledger.append(context.spark.sql("select 1 as x union all select 2"), "numbers")
    return given
def load_none(context):
    load(context, {})
    context.step.rows_processed = 0
def tell(given): return given
""",
    )
    cases = {
        "true": call("true", "load", {"given": {"rows": True}}),
        "zero": call("zero", "load", {"given": {"rows": 0}}, execution_order=2),
        "five": call("five", "load", {"given": {"rows": 5}}, execution_order=3),
        "none": call("none", "load_none", execution_order=4),
        "only_true": call("only_true", "tell", {"given": {"rows": True}}),
        "only_zero": call("only_zero", "tell", {"given": {"rows": 0}}),
    }
    result = run(sqlite_lake, module(*cases.values()), tmp_path)
    assert [step.error for step in result.steps] == [None] * 6
    counted = {step.step_name: step.rows_processed for step in logged(sqlite_lake, result)}
    assert counted == {"true": 2, "zero": 2, "five": 5, "none": 0, "only_true": None, "only_zero": 0}


def test_a_cancelled_task_appends_nothing(lake: Ledger, tmp_path: Path) -> None:
    steps_py(
        tmp_path,
        """\
def load(context):
    frame = context.spark.range(3)
    (context.base / "began").write_text("")
    assert context.stop.wait(60)
    try:
        context.ledger.append(frame, "late")
    except Exception as error:
        (context.base / "refused").write_text(f"{type(error).__name__}: {error}")
        raise
""",
    )
    cancel = lambda: lake.runs.cancel(lake.runs.list()[0].id, "wrong day", by="ann@desk")  # noqa: E731
    with once_it_began(tmp_path, cancel), pytest.raises(Fenced, match=r"CANCELLED \(cancelled by ann@desk: wrong day\); nothing more"):
        run(lake, module(call("load", "load")), tmp_path)
    assert "Fenced: " in (tmp_path / "refused").read_text()
    assert (lake.tables.list(), [each.status for each in lake.runs.list()]) == ([], ["CANCELLED"])


def test_a_notebook_has_spark(sqlite_lake: Ledger, tmp_path: Path) -> None:
    (tmp_path / "n.py").write_text("dbutils.notebook.exit(spark.range(3).count())\n", encoding="utf-8")
    result = run(sqlite_lake, module(task("n", "notebook", {"notebook_path": "n"})), tmp_path)
    assert logged(sqlite_lake, result)[0].metadata["exit"] == "3"


def test_what_spark_does_for_a_task_that_takes_too_long_is_stopped_and_nothing_else_is(
    sqlite_lake: Ledger, spark: SparkSession, tmp_path: Path
) -> None:
    steps_py(
        tmp_path,
        """\
def long(context): context.spark.sql("select count(*) from range(2000000000) where sha2(cast(id as string), 512) = 'x'").collect()
def short(context):
    (context.base / "short began").write_text("")
    return {"rows": context.spark.range(10).count()}
""",
    )
    what = module(call("long", "long", timeout_seconds=4), call("short", "short"))
    result = run(sqlite_lake, what, tmp_path)
    assert statuses(result.steps) == {"long": "FAILED", "short": "COMPLETED"}
    assert [step.error for step in result.failed] == ["timed out after 4 s"]
    wait_until(no_thread_left, 30)
    assert spark.range(3).count() == 3


def test_a_query_may_name_the_parameters_of_the_job(sqlite_lake: Ledger, tmp_path: Path) -> None:
    query = {"task_type": "sql_query", "sql_task": {"sql_query": "select :day as day, :n as n", "parameters": {"n": 2, "day": "never"}}}
    source = {"source_id": "q", "source_type": "sql", "target_config": {"table": "days"}, "transformation_config": query}
    what = module(source, parameters={"day": "today", "other": "x"})
    for day, other, written in (("monday", "x", 1), ("monday", "y", 0), ("tuesday", "y", 1)):
        assert run(sqlite_lake, what, tmp_path, {"day": day, "other": other}).rows == written
        assert [tuple(row) for row in sqlite_lake.read("days").collect()] == [(day, 2)]


def test_a_column_that_is_not_there_is_tried_once(sqlite_lake: Ledger, tmp_path: Path) -> None:
    steps_py(tmp_path, "def ask(context): context.spark.range(1).select('nothing').collect()\n")
    query = {"task_type": "sql_query", "sql_task": {"sql_query": "select nothing from range(1)"}}
    source = {"source_id": "q", "source_type": "sql", "target_config": {"table": "x"}, "transformation_config": query, "max_retries": 2}
    result = run(sqlite_lake, module(source, call("p", "ask", max_retries=2)), tmp_path)
    assert [(row.step_name, row.attempt) for row in logged(sqlite_lake, result)] == [("q", 1), ("p", 1)]
    assert all("nothing" in (step.error or "") for step in result.failed)
    assert not result.retryable


def test_what_fails_while_spark_works_is_tried_again(sqlite_lake: Ledger, tmp_path: Path) -> None:
    query = {"task_type": "sql_query", "sql_task": {"sql_query": "select raise_error('no luck') as x"}}
    source = {"source_id": "q", "source_type": "sql", "target_config": {"table": "x"}, "transformation_config": query, "max_retries": 1}
    result = run(sqlite_lake, module(source), tmp_path)
    assert [row.attempt for row in logged(sqlite_lake, result)] == [1, 2]


def test_a_load_that_committed_in_time_is_not_given_up(sqlite_lake: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lakeledger import failpoints

    late = threading.Event()
    monkeypatch.setitem(failpoints.armed, failpoints.AFTER_COMMIT, lambda _: late.wait(3) and None)
    query = {"task_type": "sql_query", "sql_task": {"sql_query": "select 1 as x"}}
    source = {"source_id": "q", "source_type": "sql", "target_config": {"table": "x"}, "transformation_config": query}
    sqlite_lake.spark.range(1).count()
    result = run(sqlite_lake, module({**source, "timeout_seconds": 2}), tmp_path)
    assert only(result).status == "COMPLETED"
    assert run_of(sqlite_lake, result).status == "COMPLETED"


def run_of(ledger: Ledger, result: ModuleResult) -> Run:
    return ledger.runs.get(result.run_id)
