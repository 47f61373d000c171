"""The ledger remembers its warehouse: it can be moved on purpose, but nobody writes elsewhere by mistake."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import lakeledger
from contract.making import ORDERS, append, new_file
from integration.commands import answer
from lakeledger import Invalid, Ledger
from lakeledger.config import Settings


def at(url: str, warehouse: Path | str, tenant: str = "default") -> Ledger:
    return lakeledger.open(Settings(url=url, warehouse=str(warehouse), tenant=tenant))


def fill(ledger: Ledger) -> Path:
    """One table with one file, as a write leaves it; where the file is."""
    root = Path(ledger.context().warehouse)
    append(ledger, file := new_file("a"), location="silver/orders")
    path = root / "silver/orders" / file.path
    path.parent.mkdir(parents=True)
    path.write_bytes(b"rows")
    return path


def test_another_warehouse_is_refused_once_there_is_a_table(url: str, tmp_path: Path) -> None:
    with at(url, tmp_path / "right") as ledger:
        fill(ledger)
    with at(url, tmp_path / "wrong") as other:
        expected = rf"the tables of tenant default are in the warehouse {tmp_path}/right, not in {tmp_path}/wrong: use --warehouse"
        with pytest.raises(Invalid, match=expected):
            other.context().warehouse  # noqa: B018 - asking is the test
        with pytest.raises(Invalid, match=expected):
            other.tables.sweep(delete=True)
        assert other.tables.get(ORDERS).current_version == 1
    with at(url, tmp_path / "right/") as ledger:
        assert ledger.context().warehouse == f"{tmp_path}/right/default"


def test_a_warehouse_without_a_table_binds_nobody(url: str, tmp_path: Path) -> None:
    with at(url, tmp_path / "mistyped") as ledger:
        assert ledger.context().warehouse == f"{tmp_path}/mistyped/default"
    with at(url, tmp_path / "right") as ledger:
        fill(ledger)
    with at(url, tmp_path / "mistyped") as ledger, pytest.raises(Invalid, match="are in the warehouse"):
        ledger.context().warehouse  # noqa: B018 - asking is the test


def test_each_tenant_has_a_warehouse_of_its_own(url: str, tmp_path: Path) -> None:
    with at(url, tmp_path / "a", tenant="a") as a, at(url, tmp_path / "b", tenant="b") as b:
        fill(a)
        fill(b)
    with at(url, tmp_path / "b", tenant="a") as wrong, pytest.raises(Invalid, match="of tenant a are in"):
        wrong.context().warehouse  # noqa: B018 - asking is the test


def test_a_project_that_was_moved_or_copied_goes_on_with_its_own_warehouse(tmp_path: Path) -> None:
    project = tmp_path / "project"
    with at(f"sqlite:///{project}/state/ledger.db", project / "lake") as ledger:
        fill(ledger)
    shutil.copytree(project, tmp_path / "copy")
    with at(f"sqlite:///{tmp_path}/copy/state/ledger.db", tmp_path / "copy/lake") as copy:
        assert copy.context().warehouse == f"{tmp_path}/copy/lake/default"
    project.rename(tmp_path / "moved")
    with at(f"sqlite:///{tmp_path}/moved/state/ledger.db", tmp_path / "moved/lake") as moved:
        assert moved.context().warehouse == f"{tmp_path}/moved/lake/default"


def test_the_spelling_of_a_place_does_not_matter(url: str, tmp_path: Path) -> None:
    with at(url, tmp_path / "lake") as ledger:
        fill(ledger)
    with at(url, f"file://{tmp_path}/lake") as ledger:
        assert ledger.context().warehouse == f"{tmp_path}/lake/default"


def test_files_that_were_moved_are_followed_on_purpose(url: str, tmp_path: Path) -> None:
    with at(url, tmp_path / "old") as ledger:
        fill(ledger)
    with at(url, tmp_path / "new") as ledger:
        assert ledger.move_warehouse().missing == [ORDERS]
        with pytest.raises(Invalid, match=rf"does not have the newest file of {ORDERS}: move the files first"):
            ledger.move_warehouse(apply=True)
    (tmp_path / "old").rename(tmp_path / "new")
    command = ["db", "move-warehouse", str(tmp_path / "new"), "--url", url]
    expected = {"before": f"{tmp_path}/old", "after": f"{tmp_path}/new", "missing": [], "applied": False}
    assert answer(*command) == expected
    assert answer(*command, "--apply") == {**expected, "applied": True}
    with at(url, tmp_path / "new") as ledger:
        assert ledger.context().warehouse == f"{tmp_path}/new/default"
    with lakeledger.open(replace(ledger.settings, warehouse=str(tmp_path / "old"))) as old, pytest.raises(Invalid):
        old.context().warehouse  # noqa: B018 - asking is the test


def test_who_wrote_to_a_warehouse_that_was_moved_meanwhile_is_refused_at_the_commit(url: str, tmp_path: Path) -> None:
    with at(url, tmp_path / "old") as writer, at(url, tmp_path / "new") as mover:
        context = writer.context()
        assert context.warehouse == f"{tmp_path}/old/default"
        mover.move_warehouse(apply=True)
        with pytest.raises(Invalid, match=f"has become {tmp_path}/new while {tmp_path}/old was written to"), writer.store.write() as tx:
            context.check_warehouse(tx)


def test_who_lost_the_first_claim_to_a_slip_of_the_pen_claims_again(url: str, tmp_path: Path) -> None:
    with at(url, tmp_path / "right") as writer, at(url, tmp_path / "mistyped") as other:
        context = writer.context()
        assert (context.warehouse, other.context().warehouse) == (f"{tmp_path}/right/default", f"{tmp_path}/mistyped/default")
        with pytest.raises(Invalid, match="has become"), writer.store.write() as tx:
            context.check_warehouse(tx)
        assert context.warehouse == f"{tmp_path}/right/default"
        with writer.store.write() as tx:
            context.check_warehouse(tx)
