"""A Spark Connect server: the same calls as anywhere, and what happens when it goes away."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest

from integration.asking import Asked, asking
from integration.daemons import Servers, connect_server
from integration.elsewhere import SCENARIOS, SLOW
from integration.waiting import until
from needs import missing

pytestmark = pytest.mark.connect

SECRET = "hunter2hunter2"
# The server has its own driver; what can be set on a session counts.
CONF = {"spark.driver.memory": "2g", "spark.executor.memory": "2g", "spark.sql.shuffle.partitions": "1"}
LOAD = """\
modules:
  - module_name: shop
    sources:
      - {source_id: csv, source_type: files, source_config: {path: "PATH", schema: "id int"}, target_config: {table: csv}}
"""


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Servers, Asked]]:
    """A server, and a process that works on it, which come up side by side."""
    if importlib.util.find_spec("grpc_status") is None:
        missing("Spark Connect is not installed: pip install 'lakeledger[connect]'")
    server = connect_server(tmp_path_factory.mktemp("connect"))
    with asking(tmp_path_factory.mktemp("client"), remote=server.url, conf=CONF) as client:
        server.start()
        yield server, client
    server.kill()


@pytest.fixture
def server(started: tuple[Servers, Asked]) -> Servers:
    return started[0]


@pytest.fixture
def client(started: tuple[Servers, Asked]) -> Asked:
    return started[1]


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_same_calls(client: Asked, tmp_path: Path, name: str) -> None:
    client.ask("scenario", name=name, folder=str(tmp_path))


def test_settings_of_the_driver_are_left_to_the_server_and_named_once(client: Asked, tmp_path: Path) -> None:
    client.ask("open", folder=str(tmp_path))
    told = [line for line in client.child.errors.splitlines() if "spark.driver.memory" in line]
    assert told == ["left to the Spark Connect server, which decides on them at its start: spark.driver.memory, spark.executor.memory"]


def test_no_token_is_ever_shown(client: Asked, server: Servers, tmp_path: Path) -> None:
    url = f"{server.url}/;token={SECRET};x-api-key={SECRET};user_id=ann"
    client.ask("open", folder=str(tmp_path))
    shown = client.ask("doctor", folder=str(tmp_path), spark=url)
    assert f"{server.url}/;token=***;x-api-key=***;user_id=ann: started" in shown
    assert f"answers at {server.url.removeprefix('sc://')}" in shown
    assert SECRET not in shown


def test_files_that_the_server_does_not_see_are_an_error_that_says_so(client: Asked, tmp_path: Path) -> None:
    client.ask("open", folder=str(tmp_path), warehouse="file:///proc/self/cwd/warehouse")
    written = client.refused("append", query="select 1 as id")
    assert written.error == "Invalid"
    assert "holds 0 rows, but 1 were written: Spark's executors have written to disks that this machine does not see" in written.message
    assert "set `warehouse` to storage that all of them share" in written.message
    (client.child.log.parent / "only-here.csv").write_text("id\n1\n", encoding="utf-8")
    (read,) = client.ask("run", document=LOAD.replace("PATH", "/proc/self/cwd/only-here.csv"), folder=str(tmp_path))
    assert "/proc/self/cwd/only-here.csv is here, but not where Spark runs: put it on storage that all its machines share" in read


def test_a_server_that_dies_in_a_write_leaves_nothing_and_the_next_call_works(client: Asked, server: Servers, tmp_path: Path) -> None:
    client.ask("open", folder=str(tmp_path))
    client.ask("open", folder=str(tmp_path), name="guest", given=True)
    assert client.ask("append", query="select 1 as id, 'x' as slept") == 1
    client.child.tell("append", query=SLOW.replace("select id", "select int(id) as id"))
    until(lambda: list((tmp_path / "warehouse").rglob("_temporary/**/part-*")), "a file to be begun")
    server.kill()
    lost = client.refused()
    assert (lost.error, lost.retryable) == ("Unavailable", True)
    assert "the Spark Connect server does not answer" in lost.message
    for name in ("mine", "guest"):
        for query in (None, "select 2 as id, 'y' as slept"):
            down = client.refused("append", name=name, query=query)
            assert (down.error, down.retryable, down.seconds < 2) == ("Unavailable", True, True)
            assert f"no Spark Connect server at {server.url.removeprefix('sc://')}: Connection refused; see that it runs" in down.message
    server.start()
    assert client.ask("append", query="select 2 as id, 'y' as slept") == 2
    assert client.ask("count") == 2
    # A frame of the old session is gone with it, and a session of somebody else's is not ours to open again.
    assert client.refused("append").error == "Unavailable"
    ended = client.refused("append", name="guest", query="select 3 as id, 'z' as slept")
    assert (ended.error, ended.retryable) == ("Unavailable", True)
    assert "the Spark session has ended: it was stopped, or its Spark Connect server was restarted or has closed it" in ended.message
    assert "one that you gave to `lakeledger.open` is yours to open again" in ended.message
    assert client.ask("count") == 2
