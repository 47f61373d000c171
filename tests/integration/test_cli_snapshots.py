"""`lakeledger snapshots`, `maintain` and `tables verify --repair`, as people type them; files are real, Spark is not needed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import lakeledger
from contract.keeping import ORDERS, files, let_pass, overwrite, put
from integration.commands import answer, invoke, refused
from lakeledger import Ledger


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ledger]:
    """A table with five versions, the last of them of today, in the current folder."""
    monkeypatch.chdir(tmp_path)
    Path("lakeledger.toml").write_text('url = "sqlite:///lakeledger.db"\nwarehouse = "warehouse"\nmetadata = "sync"\n')
    with lakeledger.open() as opened:
        for number in range(1, 5):
            overwrite(opened, [number])
        let_pass(opened, 60)
        overwrite(opened, [5])
        yield opened


def test_versions_are_listed_with_why_they_are_kept(ledger: Ledger) -> None:
    answer("snapshots", "policy", "--default", "keep_versions=1")
    assert answer("snapshots", "tag", ORDERS, "june", "--version", "2", "--comment", "audit")["tag"]["version"] == 2
    found = answer("snapshots", "list", ORDERS)["snapshots"]
    assert [(each["version"], each["tags"], each["kept"]) for each in found] == [
        (5, [], "current"),
        (4, [], "was current within 30d"),
        (3, [], None),
        (2, ["june"], "tag june"),
        (1, [], None),
    ]
    page = answer("snapshots", "list", ORDERS, "--limit", "2")
    assert [each["version"] for each in answer("snapshots", "list", ORDERS, "--after", page["next"])["snapshots"]] == [3, 2, 1]
    told = invoke("snapshots", "list", ORDERS).stdout
    assert "tag june" in told
    assert f"next: lakeledger snapshots expire {ORDERS}" in told


def test_a_listing_says_what_let_others_see_each_version(ledger: Ledger) -> None:
    overwrite(ledger, [6], mode="async")
    assert answer("tables", "read-with", "pyiceberg", ORDERS, "--fresh")["table"] == ORDERS
    overwrite(ledger, [7], mode="async")
    found = answer("snapshots", "list", ORDERS)["snapshots"]
    assert [(each["version"], each["publish_trigger"]) for each in found[:3]] == [(7, None), (6, "query"), (5, "commit")]
    assert [each["publish_trigger"] for each in answer("tables", "history", ORDERS)["snapshots"][:3]] == [None, "query", "commit"]
    assert "query" in invoke("snapshots", "list", ORDERS).stdout
    invoke("snapshots", "policy", ORDERS, "snapshot_query=off")
    assert "snapshot_query=off" in invoke("snapshots", "policy").stdout
    refused(["tables", "read-with", "duckdb", ORDERS, "--fresh"], 1, "Conflict", "a read does not publish it")
    invoke("snapshots", "policy", ORDERS, "snapshot_query=on")
    invoke("tables", "read-with", "duckdb", ORDERS, "--fresh")
    assert answer("snapshots", "list", ORDERS)["snapshots"][0]["publish_trigger"] == "query"


def test_expire_is_a_dry_run_unless_applied(ledger: Ledger) -> None:
    dry = answer("snapshots", "expire", "--keep-versions", "1")
    assert (dry["applied"], dry["run_id"], dry["tables"][0]["expired"]) == (False, None, [[1, 3]])
    told = invoke("snapshots", "expire", ORDERS, "--keep-versions", "1", "--keep-for", "7d").stdout
    assert "3 versions would expire" in told
    assert f"next: lakeledger snapshots expire {ORDERS} --keep-versions 1 --keep-for 604800s --apply" in told
    done = answer("snapshots", "expire", ORDERS, "--keep-versions", "1", "--apply", "--reason", "too many")
    assert (done["applied"], done["tables"][0]["expired"]) == (True, [[1, 3]])
    run = answer("runs", "show", done["run_id"])["run"]
    assert (run["run_kind"], run["parameters"]) == ("maintenance", {"tables": [ORDERS], "reason": "too many"})
    refused(["tables", "files", ORDERS, "--version", "2"], 2, "NotFound", "has expired")
    assert "0 versions would expire" in invoke("snapshots", "expire").stdout


def test_policies_are_set_shown_and_taken_back(ledger: Ledger) -> None:
    assert "nothing is set" in invoke("snapshots", "policy").stdout
    invoke("snapshots", "policy", "--default", "grace=12h", "snapshot_commits=off")
    invoke("snapshots", "policy", "shop", "keep_versions=5", "keep_for=7d")
    found = answer("snapshots", "policy", ORDERS)
    assert [(each["scope"], each["settings"]) for each in found["policies"]] == [
        ("", {"grace": 43_200.0, "snapshot_commits": None}),
        ("shop", {"keep_for": 604_800.0, "keep_versions": 5}),
    ]
    assert "grace=12h, snapshot_commits=off" in invoke("snapshots", "policy").stdout
    assert "keep_for          7d" in invoke("snapshots", "policy", ORDERS).stdout
    invoke("snapshots", "policy", "shop", "keep_versions=inherit")
    assert answer("snapshots", "policy", ORDERS)["policy"]["keep_versions"] == 10


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["snapshots", "policy", "shop", "keep_version=5"], "no setting 'keep_version'; did you mean 'keep_versions'"),
        (["snapshots", "policy", "shop", "keep_for=soon"], "is not a time span"),
        (["snapshots", "policy", "shop", "keep_versions=few"], "keep_versions must be at least 1"),
        (["snapshots", "policy", "shop", "keep_versions"], "sets nothing"),
        (["snapshots", "policy", "keep_versions=3"], "say of what"),
        (["snapshots", "policy", "shop", "keep_versions=off"], "keep_versions must be at least 1"),
        (["tables", "verify", ORDERS, "--apply"], "give --repair as well"),
    ],
)
def test_what_makes_no_sense_is_refused(ledger: Ledger, words: list[str], told: str) -> None:
    refused(words, 2, "Invalid", told)


def test_a_tag_is_taken_away(ledger: Ledger) -> None:
    invoke("snapshots", "tag", ORDERS, "june")
    refused(["snapshots", "tag", ORDERS, "june", "--version", "1"], 1, "Conflict", "called 'june' already")
    assert answer("snapshots", "untag", ORDERS, "june")["tag"]["version"] == 5
    refused(["snapshots", "untag", ORDERS, "june"], 2, "NotFound", "no tag 'june'")
    refused(["snapshots", "list", "shop.gone"], 2, "NotFound", "no table shop.gone")


def test_a_snapshot_is_made_by_hand(ledger: Ledger) -> None:
    put(ledger, [6], mode="async")
    made = answer("snapshots", "create", ORDERS, "--tag", "june")
    assert (made["publication"]["version"], made["tag"]["version"]) == (6, 6)
    put(ledger, [1], table="shop.lines", format_="jsonl")
    refused(["snapshots", "create", "shop.lines"], 2, "Unpublishable", "Iceberg has no jsonl files")


def test_maintain_is_a_dry_run_unless_applied(ledger: Ledger) -> None:
    invoke("snapshots", "policy", "--default", "keep_versions=1", "grace=0s")
    before = files(ledger)
    dry = answer("maintain")
    assert (dry["applied"], dry["tables"][0]["expired"], dry["tables"][0]["marked"]["files"]) == (False, [[1, 3]], 3)
    told = invoke("maintain", ORDERS).stdout
    assert "would be freed" in told
    assert f"next: lakeledger maintain {ORDERS} --apply" in told
    assert files(ledger) == before
    result = invoke("maintain", "--apply")
    assert result.exit_code == 0
    assert "1 table maintained" in result.stdout
    assert len(files(ledger)) == 2
    (removal,) = answer("records", "list", "file_removal")["records"]
    assert removal["payload"]["files"] == 3
    refused(["maintain", "shop.gone", "--apply"], 2, "NotFound", "no table shop.gone")


def test_maintain_says_what_it_could_not_do(ledger: Ledger) -> None:
    put(ledger, [1], table="shop.items")
    for path in Path("warehouse/default/shop/orders/metadata").glob("*.json"):
        path.unlink()
    result = invoke("maintain", "--apply")
    assert result.exit_code == 3
    assert "shop.orders: cannot let other engines forget what has expired: what is published of shop.orders cannot be read" in result.stderr
    assert answer("maintain", ORDERS, code=1)["tables"][0]["problems"]


def test_verify_says_what_can_be_repaired_and_repairs_it(ledger: Ledger) -> None:
    for path in Path("warehouse/default/shop/orders/metadata").glob("*.json"):
        path.unlink()
    (lost,) = Path("warehouse/default/shop/orders").glob(ledger.tables.view(ORDERS, 1).file_paths[0])
    lost.unlink()
    result = invoke("tables", "verify", ORDERS)
    assert result.exit_code == 1
    assert f"next: lakeledger tables verify {ORDERS} --repair\n" in result.stdout
    dry = invoke("tables", "verify", ORDERS, "--repair")
    assert dry.exit_code == 1
    assert "publish shop.orders anew" in dry.stdout
    (found,) = answer("tables", "verify", "--all", "--repair", "--apply", code=3)["verifications"]
    assert [(each["problem"], each["repaired"]) for each in found["findings"]] == [("missing", None), ("published", True)]
    assert "version 1 cannot be read without it" in found["findings"][0]["repair"]
