"""`lakeledger positions`: looking at positions, moving them, going back, and taking them over from other tools."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from contract.making import change, new_file, put
from integration.commands import answer, columns, invoke, refused, shown
from lakeledger import Ledger, NumberPosition, Source, TimestampPosition
from lakeledger.cli import places, positions_exchange
from lakeledger.codec import to_time
from lakeledger.sync import Advance, FilesPosition, LsnPosition, Marker, MarkerChange, SourceFile, SyncRunStatistics, exchange
from lakeledger.sync.exchange import foreign
from lakeledger.sync.positions import store
from lakeledger.sync.sync_runs import NewSync

pytestmark = pytest.mark.usefixtures("quiet")
on_sqlite = pytest.mark.parametrize("url", ["sqlite"], indirect=True)  # for what does not depend on the database

STREAM, BATCH = Source("shop", "orders", "stream"), Source("shop", "orders", "batch")
GTIDS = "3E11FA47-71CA-11E1-9E33-C80AA9429562:1-5"
DEBEZIUM = {"offsets": [{"partition": {"server": name}, "offset": {"lsn": lsn}} for name, lsn in (("crm", 500), ("erp", 700))]}
SINGER = {"bookmarks": {"shop-items": {"replication_key": "id", "replication_key_value": 1200}, "shop-new": {}}}
AIRBYTE = [
    {"type": "STREAM", "stream": {"stream_descriptor": {"name": "items", "namespace": "shop"}, "stream_state": {"cursor": "2026-01-01"}}}
]


def load(ledger: Ledger, number: int, records: int = 10) -> str:
    """A sync run that brings the batch to that number; its id."""
    run = ledger.sync.runs.start(NewSync("shop", "batch"))
    ledger.positions.advance(BATCH, NumberPosition(number), run_id=run.id)
    ledger.sync.runs.complete(run.id, "completed", SyncRunStatistics(records_processed=records))
    return run.id


@pytest.fixture
def sources(ledger: Ledger) -> None:
    """Two schemas; `shop.orders` is read in two ways."""
    for number in (10, 20, 30):
        load(ledger, number, records=number)
    ledger.positions.advance(STREAM, LsnPosition("16/B374D848"))
    ledger.positions.advance("crm.leads", TimestampPosition(to_time("2026-01-31T12:00:00Z")))


def test_positions_are_listed_by_schema_and_by_how_they_are_read(sources: None, at: list[str]) -> None:
    def names(*words: str) -> list[tuple[str, str]]:
        found = answer("positions", "list", *words, *at)["positions"]
        assert all(set(row) == columns(Marker) for row in found)
        return [(row["schema_name"], row["marker_type"]) for row in found]

    assert names() == [("crm", "batch"), ("shop", "batch"), ("shop", "stream")]
    assert names("--schema", "SHOP") == [("shop", "batch"), ("shop", "stream")]
    assert names("--schema", "shop", "--type", "stream") == [("shop", "stream")]
    assert names("--schema", "nobody") == []
    text = shown("positions", "list", *at)
    assert re.search(r"crm.leads\s+batch\s+2026-01-31T12:00:00Z\s+1\s", text)
    assert re.search(r"shop.orders\s+stream\s+16/B374D848\s+1\s", text)
    assert "no such source" in shown("positions", "list", "--schema", "nobody", *at)


def test_a_source_that_is_read_in_several_ways_is_named_with_its_type(sources: None, at: list[str]) -> None:
    told = "'shop.orders' has several positions: say which with --type batch or stream"
    for words in (["show"], ["history"], ["rewind", "--to-version", "1"], ["export", "--format", "singer"]):
        refused(["positions", words[0], "shop.orders", *words[1:], *at], 2, "Invalid", told)
    refused(["positions", "set", "shop.orders", "7", *at], 2, "Invalid", told)
    found = answer("positions", "show", "shop.orders", "--type", "stream", *at)
    assert (found["position"]["position_data"], len(found["history"]), found["files"]) == ({"lsn": "16/B374D848"}, 1, [])
    assert "next: lakeledger positions show shop.orders --type batch" in shown("positions", "list", "--schema", "shop", *at)


def test_history_is_told_newest_first_and_as_far_back_as_asked(sources: None, at: list[str]) -> None:
    found = answer("positions", "history", "shop.orders", "--type", "batch", "--limit", "2", *at)
    assert (set(found), set(found["history"][0])) == ({"position", "history", "removals", "next"}, columns(MarkerChange))
    assert [row["position_data"] for row in found["history"]] == [{"value": 30}, {"value": 20}]
    text = shown("positions", "history", "shop.orders", "--type", "batch", *at)
    assert text.splitlines()[0] == "shop.orders (batch)"
    assert "next: lakeledger positions rewind shop.orders --to-version 2 --type batch" in text


@pytest.mark.parametrize(
    ("kind", "word", "document", "told"),
    [
        ("number", "42", {"value": 42}, "42"),
        ("lsn", "16/B374D848", {"lsn": "16/B374D848"}, "16/B374D848"),
        ("timestamp", "2026-01-31T12:00:00.000000Z", {"timestamp": "2026-01-31T12:00:00.000000Z"}, "2026-01-31T12:00:00Z"),
        ("delta", "7", {"version": 7}, "version 7"),
        ("gtid", GTIDS, {"gtids": GTIDS}, GTIDS),
        (None, '{"lsn": 97500059720}', {"lsn": 97500059720}, "16/B374D848"),
        (None, '{"file": "mysql-bin.000003", "pos": 154}', {"file": "mysql-bin.000003", "pos": 154}, "mysql-bin.000003 at 154"),
        (None, '{"offsets": {"orders": {"0": 5}}}', {"offsets": {"orders": {"0": 5}}}, "orders 0:5"),
        (None, '{"resume_token": {"_data": "82"}}', {"resume_token": {"_data": "82"}}, "token 82"),
        (None, '{"snapshot_id": 9, "sequence_number": 3}', {"snapshot_id": 9, "sequence_number": 3}, "snapshot 9"),
        (None, '{"page": 3, "tags": ["a"]}', {"page": 3, "tags": ["a"]}, 'page=3, tags=["a"]'),
    ],
)
def test_a_position_is_a_word_or_json(
    ledger: Ledger, at: list[str], kind: str | None, word: str, document: dict[str, object], told: str
) -> None:
    given = ["--kind", kind] if kind else []
    found = answer("positions", "set", "new.source", word, "--type", "stream", *given, *at)["position"]
    assert (found["position_data"], found["marker_type"], found["version"]) == (document, "stream", 1)
    assert told in shown("positions", "show", "new.source", *at)


def test_a_source_moves_forward_in_the_kind_it_has_and_is_signed_by_who_moved_it(sources: None, at: list[str]) -> None:
    text = shown("positions", "set", "shop.orders", "40", "--type", "batch", "--reason", "caught up", *at)
    assert text.splitlines()[0] == "shop.orders (batch): 30 → 40, version 4"
    (last,) = answer("positions", "history", "shop.orders", "--type", "batch", "--limit", "1", *at)["history"]
    assert (last["reason"], last["forced"], "@" in last["updated_by"]) == ("caught up", False, True)


def test_a_source_goes_back_only_by_force_and_with_a_reason(sources: None, at: list[str]) -> None:
    move = ["positions", "set", "shop.orders", "5", "--type", "batch"]
    refused([*move, *at], 1, "Conflict", "would go back")
    refused([*move, "--force", *at], 2, "Invalid", "--force needs --reason")
    refused([*move, "--force", "--reason", " ", *at], 2, "Invalid", "--force needs --reason")
    assert answer(*move, "--force", "--reason", "it was repaired", *at)["position"]["version"] == 4
    assert "forced: it was repaired" in shown("positions", "history", "shop.orders", "--type", "batch", *at)


def test_a_version_that_is_expected_is_compared(sources: None, at: list[str]) -> None:
    move = ["positions", "set", "shop.orders", "50", "--type", "batch", "--expect-version"]
    refused([*move, "2", *at], 1, "Conflict", "is version 3")
    refused([*move, "0", *at], 1, "Conflict", "is version 3")
    assert answer(*move, "3", *at)["position"]["version"] == 4


def test_a_free_document_is_ordered_by_the_field_that_is_named(ledger: Ledger, at: list[str]) -> None:
    move = ["positions", "set", "api.pages"]
    answer(*move, '{"page": 7, "seen": "x"}', "--type", "batch", "--order-by", "page", *at)
    refused([*move, '{"page": 6, "seen": "y"}', "--order-by", "page", *at], 1, "Conflict", "would go back")
    refused([*move, '{"page": 8}', *at], 1, "Conflict", "declare its order")
    assert answer(*move, '{"page": 10}', "--order-by", "page", *at)["position"]["version"] == 2


@on_sqlite
@pytest.mark.parametrize(
    ("words", "kind", "told"),
    [
        (["shop.oders", "5"], "NotFound", "give --type stream, batch or initial; did you mean 'shop.orders'?"),
        (["crm.leads", "soon"], "Invalid", "'soon' is no timestamp: write it as 2026-01-31T12:00:00Z"),
        (["crm.leads", "{broken"], "Invalid", "the position is no JSON"),
        (["crm.leads", '{"timestamp": NaN}'], "Invalid", "NaN is no number of JSON"),
        (["crm.leads", '{"value": 4}'], "Invalid", "not a timestamp position"),
        (["crm.leads", "[1]"], "Invalid", "'[1]' is no timestamp"),
        (["crm.leads", ""], "Invalid", "'' is no timestamp"),
        (["new", "42", "--type", "batch"], "Invalid", "'42' could be of several kinds: give --kind"),
        (["new", "x", "--type", "batch", "--kind", "offsets"], "Invalid", "a offsets is written as a JSON object"),
        (["new", "1.5", "--type", "batch", "--kind", "number"], "Invalid", "'1.5' is no number"),
        (["new", "9" * 30, "--type", "batch", "--kind", "delta"], "Invalid", "is no delta: write it as 7"),
        (["new", "17", "--type", "batch", "--kind", "lsn"], "Invalid", "'17' is no lsn: write it as 16/B374D848"),
        (["new", "x", "--type", "batch", "--kind", "files"], "Invalid", "'files' is not one of"),
        (["new", "5", "--type", "nightly", "--kind", "number"], "Invalid", "'nightly' is not one of"),
        (["new", "5", "--type", "batch", "--kind", "number", "--order-by", "x"], "Invalid", "has its own order"),
        (["new", '{"a": 1}', "--type", "batch", "--order-by", "b"], "Invalid", "has no 'b' to be ordered by"),
        ([".x", "5", "--type", "batch", "--kind", "number"], "Invalid", "must be a schema or schema.table"),
        (["", "5", "--type", "batch", "--kind", "number"], "Invalid", "must be a schema or schema.table"),
    ],
)
def test_what_is_no_position_is_refused_with_how_to_write_it(sources: None, at: list[str], words: list[str], kind: str, told: str) -> None:
    before = answer("positions", "list", *at)
    refused(["positions", "set", *words, *at], 2, kind, told)
    assert answer("positions", "list", *at) == before


def test_names_are_taken_as_they_are(ledger: Ledger, at: list[str]) -> None:
    for name in ("shop; drop table x", "[red]shop[/red]", "it's", "shop.eu.orders", "Łódź"):
        answer("positions", "set", name, "1", "--kind", "number", "--type", "batch", *at)
        assert answer("positions", "show", name.upper(), *at)["position"]["version"] == 1
    assert "next: lakeledger positions show '[red]shop[/red]'" in shown("positions", "list", *at)


def test_a_rewind_says_what_would_be_read_again_and_changes_nothing(sources: None, at: list[str]) -> None:
    words = ["positions", "rewind", "shop.orders", "--type", "batch", "--to-version", "1", "--reason", "late data"]
    text = shown(*words, *at)
    for line in (r"from\s+30, version 3", r"back to\s+10", r"between\s+20 numbers", r"reads again\s+50 records of 2 runs"):
        assert re.search(line, text), text
    assert "nothing was changed" in text
    wanted = "next: lakeledger positions rewind shop.orders --type batch --to-version 1 --reason 'late data' --expect-version 3 --apply"
    assert wanted in text
    plan = answer(*words, *at)
    assert (plan["applied"], plan["position"]["version"], plan["to"]) == (
        False,
        3,
        {"position_kind": "number", "position_data": {"value": 10}},
    )
    assert ([row["version"] for row in plan["undone"]], plan["runs"], plan["records"]) == ([2, 3], 2, 50)
    assert (
        plan["files"],
        plan["distance"],
        answer("positions", "history", "shop.orders", "--type", "batch", *at)["position"]["version"],
    ) == (
        [],
        "20 numbers",
        3,
    )


def test_a_rewind_is_done_when_told_and_only_to_what_was_seen(ledger: Ledger, sources: None, at: list[str]) -> None:
    words = [
        "positions",
        "rewind",
        "shop.orders",
        "--type",
        "batch",
        "--to",
        "15",
        "--expect-version",
        "3",
        "--reason",
        "late data",
        "--apply",
    ]
    assert "it is at version 4 now" in shown(*words, *at)
    (last,) = answer("positions", "history", "shop.orders", "--type", "batch", "--limit", "1", *at)["history"]
    assert (last["position_data"], last["forced"], last["reason"]) == ({"value": 15}, True, "rewound from version 3: late data")
    assert "@" in last["updated_by"]
    refused([*words, *at], 1, "Conflict", "stands at version 4, not at 3: look at a new preview first")


def test_a_rewind_of_a_source_that_appends_says_how_many_rows_would_come_twice(ledger: Ledger, at: list[str]) -> None:
    for number in (1, 2):
        with ledger.run("load") as run:
            move = Advance(Source("shop", "orders"), NumberPosition(number))
            put(ledger, change(run, new_file(f"{number}", rows=1_000), position=move))
    words = ["positions", "rewind", "shop.orders", "--to-version", "1"]
    text = shown(*words, *at)
    assert re.search(r"comes twice\s+1,000 rows: already in the table", text), text
    assert "--reason '<why>' --expect-version 2 --apply" in text
    assert answer(*words, *at)["appended_rows"] == 1_000
    refused([*words, "--apply", *at], 2, "Invalid", "would append 1,000 rows a second time")
    assert "went back" in shown(*words, "--apply", "--reason", "the table was emptied", *at)


def test_a_rewind_to_a_time_takes_any_way_of_writing_it(sources: None, at: list[str]) -> None:
    first, second, _ = (
        row["updated_at"] for row in reversed(answer("positions", "history", "shop.orders", "--type", "batch", *at)["history"])
    )
    for time, number in ((first, 10), (second.replace("Z", "+00:00"), 20)):
        plan = answer("positions", "rewind", "shop.orders", "--type", "batch", "--to-time", time, *at)
        assert plan["to"]["position_data"] == {"value": number}


def test_of_a_long_history_the_last_moves_and_files_are_shown_and_the_rest_on_request(ledger: Ledger, at: list[str]) -> None:
    source, day = Source("shop", "files"), to_time("2026-01-01T00:00:00Z")
    for number in range(25):
        with ledger.store.write() as tx:
            marker = store.advance(tx, Advance(source, FilesPosition.of([(f"in/{number:02}.csv", str(number))])), "ann")
            store.register_files(tx, marker, [SourceFile(f"in/{number:02}.csv", 100, day, str(number))], "r")
    text = shown("positions", "show", "shop.files", *at)
    assert "history: the last 20\n" in text
    assert "more: give --after in/05.csv as well" in text
    assert [f"in/{number:02}.csv" in text for number in (4, 5, 24)] == [False, True, True]
    first = answer("positions", "show", "shop.files", *at)
    rest = answer("positions", "show", "shop.files", "--after", first["next"], *at)
    assert [file["path"] for file in first["files"] + rest["files"]] == [f"in/{number:02}.csv" for number in reversed(range(25))]
    assert (len(first["history"]), rest["next"]) == (20, None)


def test_files_that_are_read_again_are_named(ledger: Ledger, at: list[str]) -> None:
    source = Source("shop", "files")
    for number in (1, 2):
        files = [SourceFile(f"in/{number}.csv", 100, to_time("2026-01-01T00:00:00Z"), str(number))]
        with ledger.run("load") as run, ledger.store.write() as tx:
            known = [SourceFile(f"in/{each}.csv", 100, files[0].modified_at, str(each)).identity for each in range(1, number + 1)]
            marker = store.advance(tx, Advance(source, FilesPosition.of(known)), "ann", run.id)
            store.register_files(tx, marker, files, run.id)
    text = shown("positions", "rewind", "shop.files", "--to-version", "1", *at)
    assert re.search(r"reads again\s+0 records of 1 run, 1 file", text)
    assert "in/2.csv" in text
    assert "in/1.csv" not in text
    refused(["positions", "rewind", "shop.files", "--to", "1", *at], 2, "Invalid", "takes it back to a version or a time")
    refused(["positions", "set", "shop.files", "1", *at], 2, "Invalid", "takes it back to a version or a time")


@on_sqlite
@pytest.mark.parametrize(
    ("words", "kind", "told"),
    [
        ([], "Invalid", "give one of --to-version, --to-time and --to"),
        (["--to-version", "1", "--to", "5"], "Invalid", "give one of --to-version, --to-time and --to"),
        (["--to-version", "0"], "Invalid", "0 is not in the range"),
        (["--to-version", "9"], "NotFound", "has no version 9"),
        (["--to-version", "3"], "Invalid", "already stands there"),
        (["--to-time", "yesterday"], "Invalid", "'yesterday' is no time"),
        (["--to-time", "0001-01-01T00:00:00+14:00"], "Invalid", "is no time"),
        (["--to-time", "2001-01-01"], "NotFound", "has no position of 2001-01-01"),
        (["--to", "99"], "Invalid", "is not behind"),
        (["--to", "16/0", "--kind", "lsn"], "Invalid", "is not behind"),
    ],
)
def test_where_a_source_never_was_it_does_not_go_back_to(sources: None, at: list[str], words: list[str], kind: str, told: str) -> None:
    refused(["positions", "rewind", "shop.orders", "--type", "batch", *words, "--apply", *at], 2, kind, told)
    assert answer("positions", "show", "shop.orders", "--type", "batch", *at)["position"]["version"] == 3


def test_an_import_says_what_became_of_each_source_and_does_nothing_twice(ledger: Ledger, at: list[str]) -> None:
    Path("offsets.json").write_text(json.dumps(DEBEZIUM))
    found = answer("positions", "import", "offsets.json", *at)
    assert set(found) == {"format", "positions", "skipped"}
    assert [(row["source"], row["marker_type"], row["status"], row["error"]) for row in found["positions"]] == [
        ("crm", "stream", "imported", None),
        ("erp", "stream", "imported", None),
    ]
    assert set(found["positions"][0]["position"]) == columns(Marker)
    again = answer("positions", "import", "-", "--format", "debezium", *at, stdin=json.dumps(DEBEZIUM))
    assert [(row["status"], row["position"]["version"]) for row in again["positions"]] == [("unchanged", 1)] * 2
    assert "imported from debezium" in shown("positions", "history", "crm", *at)
    assert "0/1F4 (from debezium)" in shown("positions", "list", *at)


def test_what_would_go_back_is_refused_and_the_rest_imported(ledger: Ledger, at: list[str]) -> None:
    ledger.positions.advance(Source("crm", None, "stream"), LsnPosition("16/0"))
    text = json.dumps(DEBEZIUM)
    partly = invoke("positions", "import", "-", *at, stdin=text)
    assert partly.exit_code == 3
    assert re.search(r"✗ refused\s+crm\s+stream .*would go back", partly.stdout)
    assert re.search(r"✓ imported\s+erp\s+stream", partly.stdout)
    ledger.positions.advance(Source("erp", None, "stream"), LsnPosition("16/0"))
    found = answer("positions", "import", "-", *at, stdin=text, code=1)
    assert [(row["status"], row["error"]["type"], row["position"]["order_key"]) for row in found["positions"]] == [
        ("refused", "Conflict", LsnPosition("16/0").order_key)
    ] * 2
    forced = answer("positions", "import", "-", "--force", "--reason", "moved over", *at, stdin=text)
    assert [row["status"] for row in forced["positions"]] == ["imported"] * 2
    assert "forced: imported from debezium: moved over" in shown("positions", "history", "crm", *at)


def test_what_is_no_position_in_a_state_is_told(ledger: Ledger, at: list[str]) -> None:
    text = shown("positions", "import", "-", *at, stdin=json.dumps(SINGER))
    assert re.search(r"imported\s+shop.items\s+batch\s+1200 \(from singer\)\s+1", text)
    assert "left out: stream shop-new: its bookmark is empty" in text
    assert len(answer("positions", "import", "-", *at, stdin=json.dumps(SINGER))["skipped"]) == 1


@pytest.mark.parametrize(("format", "state"), [("debezium", DEBEZIUM), ("airbyte", AIRBYTE)])
def test_what_was_imported_is_exported_as_it_came(ledger: Ledger, at: list[str], format: str, state: object) -> None:
    answer("positions", "import", "-", *at, stdin=json.dumps(state))
    assert json.loads(shown("positions", "export", "--format", format, *at)) == state
    found = answer("positions", "export", "--format", format, "--output", "state.json", *at)
    assert (set(found), found["output"], json.loads(found["text"])) == ({"format", "output", "positions", "text"}, "state.json", state)
    assert json.loads(Path("state.json").read_text()) == state
    refused(["positions", "export", "--format", format, "--output", "state.json", *at], 2, "Invalid", "state.json is there already")


def test_only_the_sources_that_are_named_are_exported(sources: None, at: list[str]) -> None:
    state = json.loads(shown("positions", "export", "crm.leads", "shop.orders", "--type", "batch", "--format", "singer", *at))
    assert state == {
        "bookmarks": {
            "crm-leads": {"replication_key_value": "2026-01-31T12:00:00.000000Z"},
            "shop-orders": {"replication_key_value": 30},
        }
    }
    assert list(json.loads(shown("positions", "export", "--schema", "CRM", "--format", "singer", *at))["bookmarks"]) == ["crm-leads"]
    refused(["positions", "export", "--format", "singer", *at], 2, "Invalid", "name each SOURCE to export, or give --schema or --type")


@on_sqlite
@pytest.mark.parametrize(
    ("words", "stdin", "kind", "told"),
    [
        (["import", "absent.json"], None, "Invalid", "cannot read absent.json: No such file or directory"),
        (["import", "."], None, "Invalid", "cannot read .: Is a directory"),
        (["import", "-"], b"", "Invalid", "stdin: "),
        (["import", "-"], b"{broken", "Invalid", "stdin: this is neither JSON nor JSON lines"),
        (["import", "-"], b"\xac\xed\x00\x05sr", "Invalid", "only Java can read"),
        (["import", "-"], b'{"bookmarks": {"a-b": {"x": "\xff"}}}', "Invalid", "stdin: "),
        (["import", "-"], b'{"columns": []}', "Invalid", "none of debezium, singer, airbyte writes positions like this"),
        (["import", "-", "--format", "csv"], b"{}", "Invalid", "'csv' is not one of"),
        (["export"], None, "Invalid", "say with --format who shall read it: debezium, singer, airbyte"),
        (["export", "--format", "singer", "nobody"], None, "NotFound", "no position for 'nobody'"),
        (["export", "--format", "singer", "--schema", "nobody"], None, "NotFound", "no position to export"),
        (["export", "--format", "singer", "--schema", "crm", "crm.leads"], None, "Invalid", "give either SOURCE or --schema"),
        (["export", "--format", "singer", "crm.leads", "--output", "no/such/folder"], None, "Invalid", "cannot write no/such/folder"),
        (["show", "shop.oders"], None, "NotFound", "did you mean 'shop.orders'?"),
        (["show", "crm.leads", "--type", "stream"], None, "NotFound", "no position for 'crm.leads' (stream)"),
        (["history", "crm.leads", "--limit", "0"], None, "Invalid", "0 is not in the range"),
        (["history", "nobody"], None, "NotFound", "no position for 'nobody'"),
        (["rewind", "nobody", "--to-version", "1"], None, "NotFound", "no position for 'nobody'"),
        (["list", "--type", "nightly"], None, "Invalid", "'nightly' is not one of"),
    ],
)
def test_bad_input_is_named_with_its_fix(sources: None, at: list[str], words: list[str], stdin: bytes | None, kind: str, told: str) -> None:
    refused(["positions", *words, *at], 2, kind, told, stdin=stdin)


def test_every_format_can_be_given() -> None:
    assert (list(positions_exchange.FORMATS), places.ORIGIN) == (list(exchange.FORMATS), foreign.ORIGIN)


def test_an_empty_ledger_says_so(ledger: Ledger, at: list[str]) -> None:
    assert answer("positions", "list", *at) == {"positions": [], "next": None}
    assert "no source was read yet" in shown("positions", "list", *at)


def test_a_rewind_takes_batches_back_and_a_removed_position_is_told(ledger: Ledger, at: list[str]) -> None:
    for number in (1, 2):
        with ledger.run("load") as run:
            move = Advance(Source("shop", "orders"), NumberPosition(number))
            put(ledger, change(run, new_file(f"{number}", rows=1_000), position=move, summary={"source": "shop.orders"}))
    words = ["positions", "rewind", "shop.orders", "--to-version", "1", "--take-back"]
    text = shown(*words, *at)
    assert re.search(r"taken back\s+1,000 rows", text), text
    assert re.search(r"silver.orders\s+2\s+1,000\s+1", text), text
    assert "--take-back --expect-version 2 --apply" in text
    assert ledger.tables.get("silver.orders").row_count == 2_000
    told = answer(*words, "--apply", *at)
    assert [(each["table"], each["versions"], each["rows"]) for each in told["taken_back"]] == [("silver.orders", [2], 1_000)]
    assert (told["applied"], ledger.tables.get("silver.orders").row_count) == (True, 1_000)

    words = ["positions", "remove", "shop.orders"]
    text = shown(*words, *at)
    assert "nothing was changed" in text
    assert "silver.orders may hold rows of it" in text
    assert "--expect-version 3 --reason '<why>' --apply" in text
    assert answer(*words, *at)["tables"] == ["silver.orders"]
    refused([*words, "--expect-version", "2", "--apply", *at], 1, "Conflict", "stands at version 3, not at 2")
    assert "has no position any more" in shown(*words, "--reason", "it is gone", "--apply", *at)
    assert "it is gone" in shown("positions", "history", "shop.orders", *at)
    assert answer("positions", "history", "shop.orders", *at)["removals"][0]["to_status"] == "REMOVED"
    refused([*words, *at], 2, "NotFound", "no position for 'shop.orders'")
