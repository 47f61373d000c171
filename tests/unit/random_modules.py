"""Any module at all, for tests that must hold for every one of them."""

from __future__ import annotations

from datetime import date
from typing import Any

from hypothesis import strategies as st

from lakeledger.control.documents import Module
from lakeledger.control.modules import RunIf

NASTY = [
    *("yes", "no", "on", "off", "null", "~", "true", "False", "1", "1.0", "007", "1_000", "1e3", ".5", "0x1F", "2026-01-02", "12:30:00"),
    *("", " ", " leading", "trailing ", "a: b", "a #b", "# a", "- a", "? a", "&a", "*a", "!a", "!!int 1", "|", ">", "%a", "@a", "`a`"),
    *("{a", "[a", "'a'", '"a"', "it's", 'say "x"', "a\\b", "\\n", "a\tb", "\ta", "a\nb", "a\nb\n", "a\nb\n\n", "\na", "\n", " a\nb"),
    *("a \nb", "a\n  b\n c", "a\r\nb", "é", "😀", "\u2028", "\x85", "\x07", "\ufeff", "---", "...", "--- a", "<<", "=", "a, b", "a:", ":a"),
    *("${var.x}", "$${var.x}", "a ${var.x} b", "${env:HOME}", "${secret:a/b}", "key: [1, 2]", "\\u0041", "-", ":", "?", "a" * 300),
    "select *\nfrom orders -- all: of them\nwhere x = ':a'\n",
]

CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\x00")
TEXTS = st.sampled_from(NASTY) | st.text(CHARACTERS, max_size=30)
WORDS = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True)
NAMES = (
    (st.sampled_from(NASTY) | st.text(CHARACTERS, min_size=1, max_size=12))
    .map(str.strip)
    .filter(lambda name: bool(name) and name.isprintable() and len(name) <= 200)
)
SECONDS = st.none() | st.integers(0, 10_000)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)
BOUND = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS | st.dates(date(1000, 1, 1))
TEXT_MAPS = st.dictionaries(TEXTS, TEXTS, max_size=3)
RUN_IF = st.sampled_from(RunIf.__args__)  # type: ignore[attr-defined]


def some(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Each of the fields, or not."""
    return st.fixed_dictionaries({}, optional=fields)


def with_some(needed: dict[str, st.SearchStrategy[Any]], **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(needed, optional=fields)


PATHS = st.from_regex(r"[a-z]{1,5}/[a-z]{1,5}\*\.csv", fullmatch=True)
LISTS = st.lists(TEXTS, max_size=3)
SQL = TEXTS.filter(bool)
QUERIES = SQL.map("select 1 -- {}".format)
TASKS: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "python": with_some({"function": st.just("shop.checks:fresh")}, parameters=st.dictionaries(TEXTS, VALUES, max_size=3)),
    "notebook": with_some({"notebook_path": NAMES}, base_parameters=TEXT_MAPS, source=st.just("GIT")),
    "python_wheel": with_some({"package_name": NAMES, "entry_point": NAMES}, parameters=LISTS)
    | with_some({"package_name": NAMES, "entry_point": NAMES}, named_parameters=TEXT_MAPS),
    "spark_jar": with_some({"main_class_name": NAMES}, parameters=LISTS, jar_uri=TEXTS),
    "pipeline": with_some({"pipeline_id": NAMES}, full_refresh=st.booleans()),
    "dbt": with_some({"commands": st.lists(NAMES, min_size=1, max_size=3)}, project_directory=TEXTS, schema=TEXTS, catalog=TEXTS),
}


def targets(at: int, *modes: str) -> st.SearchStrategy[dict[str, Any]]:
    """A table that no other source writes."""
    needed = {"table": st.just(f"table_{at}")}
    return with_some(needed, schema=WORDS, catalog=TEXTS, write_mode=st.sampled_from(modes), partition_by=st.lists(WORDS, max_size=2))


def works(at: int) -> st.SearchStrategy[dict[str, Any]]:
    """What a source does, of any type."""
    files = st.fixed_dictionaries(
        {
            "source_type": st.just("files"),
            "source_config": with_some({"path": PATHS}, options=TEXT_MAPS, schema=TEXTS, format=st.just("json")),
            "target_config": targets(at, "append"),
        }
    )
    inline = with_some(
        {"sql_query": QUERIES},
        warehouse_id=TEXTS,
        parameters=st.dictionaries(TEXTS, BOUND | st.lists(BOUND, max_size=2), max_size=3),
    )
    sql = st.fixed_dictionaries(
        {
            "source_type": st.just("sql"),
            "transformation_config": st.fixed_dictionaries({"sql_task": inline})
            | st.fixed_dictionaries({"task_type": st.just("sql_file"), "sql_task": with_some({"sql_file_path": SQL})}),
            "target_config": targets(at, "append", "overwrite"),
        },
        optional={"source_config": st.dictionaries(TEXTS, VALUES, max_size=2)},
    )
    tasks = [
        st.fixed_dictionaries(
            {
                "source_type": st.just("task"),
                "transformation_config": st.fixed_dictionaries({"task_type": st.just(type_), f"{type_}_task": task}),
            },
            optional={"target_config": targets(at, "append"), "source_config": st.dictionaries(TEXTS, VALUES, max_size=2)},
        )
        for type_, task in TASKS.items()
    ]
    return st.one_of(files, sql, *tasks)


SETTINGS = some(
    execution_order=st.integers(0, 5),
    is_active=st.booleans(),
    run_if=RUN_IF,
    timeout_seconds=SECONDS,
    max_retries=st.integers(0, 5),
    retry_seconds=st.none() | st.floats(0, 1000) | st.integers(0, 100),
)
WAITS = {"min_time_between_triggers_seconds": SECONDS, "wait_after_last_change_seconds": SECONDS}
UNIX = st.builds("{} {} * * {}".format, st.integers(0, 59), st.integers(0, 23), st.sampled_from(["*", "1-5", "mon"]))
QUARTZ = st.builds("{} {}  */2 ? * {}".format, st.integers(0, 59), st.integers(0, 59), st.sampled_from(["*", "MON-FRI", "6L"]))
ZONES = ("UTC", "Europe/Berlin", "Etc/GMT+1")
MODULE_SETTINGS = some(
    description=st.none() | TEXTS,
    schedule=with_some({"cron": UNIX}, timezone_id=st.sampled_from(ZONES), pause_status=st.just("PAUSED"))
    | with_some({"quartz_cron_expression": QUARTZ}),
    trigger=st.fixed_dictionaries({"file_arrival": with_some({"url": NAMES}, **WAITS)})
    | st.fixed_dictionaries({"table_update": with_some({"table_names": st.lists(NAMES, min_size=1, max_size=2)}, **WAITS)}),
    parameters=TEXT_MAPS,
    tags=TEXT_MAPS,
    notifications=some(on_start=st.lists(NAMES, max_size=2), on_failure=st.lists(NAMES, max_size=2)),
    timeout_seconds=SECONDS,
    max_concurrent_runs=st.none() | st.integers(1, 9),
)


@st.composite
def modules(draw: st.DrawFn, name: st.SearchStrategy[str] = NAMES) -> Module:
    """A module whose sources wait only for earlier ones."""
    ids = draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
    sources = [{"source_id": each, **draw(works(at)), **draw(SETTINGS)} for at, each in enumerate(ids)]
    for at, source in enumerate(sources[1:], 1):
        earlier = [other["source_id"] for other in sources[:at] if other.get("execution_order", 1) <= source.get("execution_order", 1)]
        source["depends_on"] = draw(st.lists(st.sampled_from(earlier), max_size=2, unique=True)) if earlier else []
        source.setdefault("execution_order", 1)
    return Module.model_validate({"module_name": draw(name), **draw(MODULE_SETTINGS), "sources": sources})


def documents(max_size: int = 3) -> st.SearchStrategy[list[Module]]:
    """Modules with names of their own."""
    return st.lists(modules(), min_size=1, max_size=max_size, unique_by=lambda module: module.module_name)
