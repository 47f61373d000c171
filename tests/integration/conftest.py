"""What the tests of the command line and of Databricks ask for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from databricks_server import DatabricksServer, serving
from integration.source_database import Shop, need_driver, shop_on
from lakeledger import Ledger
from needs import missing
from postgres_server import Server
from s3_server import CREDENTIALS, MissingServer, S3Server

if TYPE_CHECKING:
    from integration.databricks_site import Site


@pytest.fixture
def quiet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of its own, without the settings of whoever runs the tests."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("LAKELEDGER_")] + ["COLUMNS", "NO_COLOR", "FORCE_COLOR"]:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LAKELEDGER_MIRROR", "off")


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """The folder of the document and of its files; brackets in its name are no wildcards."""
    folder = tmp_path / "shop [eu]"
    folder.mkdir()
    return folder


@pytest.fixture
def at(url: str) -> list[str]:
    """The options that lead to the ledger, on SQLite and on PostgreSQL."""
    return ["--url", url]


@pytest.fixture
def shop(postgres: Server) -> Iterator[Shop]:
    """A schema of PostgreSQL with an empty table of orders, as a source by JDBC."""
    need_driver()
    with shop_on(postgres) as opened:
        yield opened


@pytest.fixture
def server() -> Iterator[DatabricksServer]:
    """A Databricks workspace on this machine."""
    with serving() as started:
        yield started


@pytest.fixture
def site(server: DatabricksServer, ledger: Ledger, tmp_path: Path) -> Iterator[Site]:
    """A control table that is deployed there."""
    from integration.databricks_site import opened

    with opened(server, ledger, tmp_path / "etl_control") as made:
        yield made


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Server]:
    """A real S3 server with the bucket `lake`, whose credentials the test has."""
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    made = S3Server(tmp_path / "requests.log")
    try:
        made.start("lake")
    except MissingServer as error:
        missing(str(error))
    yield made
    made.stop()
