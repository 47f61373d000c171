"""A standalone cluster of two workers: the same calls as anywhere, and what happens when it goes away."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from integration.asking import Asked, asking
from integration.commands import answer
from integration.daemons import HOST, Servers, free_port, standalone
from integration.elsewhere import SCENARIOS, SLOW
from integration.waiting import until
from spark_conf import JAVA_OPTIONS, SPARK_CONF

pytestmark = pytest.mark.cluster

CONF = {
    **SPARK_CONF,
    "spark.driver.host": HOST,
    "spark.driver.bindAddress": HOST,
    "spark.executor.memory": "512m",
    "spark.executor.extraJavaOptions": " ".join(JAVA_OPTIONS),
}
WAIT_SECONDS = 120  # executors may take their time to start, on a machine that has much else to do


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Servers, Asked]]:
    """A cluster, and a process whose driver has executors on both workers."""
    cluster = standalone(tmp_path_factory.mktemp("cluster"))
    with asking(tmp_path_factory.mktemp("driver"), master=cluster.url, conf=CONF, wait_seconds=WAIT_SECONDS) as driver:
        cluster.start()
        yield cluster, driver
    cluster.kill()


@pytest.fixture
def cluster(started: tuple[Servers, Asked]) -> Servers:
    return started[0]


@pytest.fixture
def driver(started: tuple[Servers, Asked]) -> Asked:
    return started[1]


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_same_calls(driver: Asked, tmp_path: Path, name: str) -> None:
    driver.ask("scenario", name=name, folder=str(tmp_path))


def test_files_that_executors_do_not_see_are_an_error_that_says_so(driver: Asked, tmp_path: Path) -> None:
    driver.ask("open", folder=str(tmp_path), warehouse="file:///proc/self/cwd/warehouse")
    written = driver.refused("append", query="select 1 as id")
    assert written.error == "Invalid"
    assert "holds 0 rows, but 1 were written: Spark's executors have written to disks that this machine does not see" in written.message


def test_a_cluster_that_goes_away_in_a_write_leaves_nothing_and_the_next_call_works(
    driver: Asked, cluster: Servers, tmp_path: Path
) -> None:
    driver.ask("open", folder=str(tmp_path))
    assert driver.ask("append", query="select 1 as id, 'x' as slept") == 1
    cluster.daemons[0].kill()
    assert driver.ask("append", query="select 2 as id, 'y' as slept") == 2, "executors go on without their master"
    driver.child.tell("append", query=SLOW.replace("select id", "select int(id) as id"))
    until(lambda: list((tmp_path / "warehouse").rglob("_temporary/**/part-*")), "a file to be begun")
    cluster.kill()
    lost = driver.refused()
    assert (lost.error, lost.retryable) == ("Unavailable", True)
    assert f"the cluster went away: no Spark master at {cluster.url.removeprefix('spark://')}: Connection refused" in lost.message
    down = driver.refused("append", query="select 3 as id, 'z' as slept")
    assert (down.error, down.seconds < 2) == ("Unavailable", True)
    assert "see that it runs, or change `master` under [spark]" in down.message
    cluster.start()
    assert driver.ask("append", query="select 3 as id, 'z' as slept") == 3
    assert driver.ask("count") == 3


def test_executors_larger_than_any_worker_are_an_error_that_says_so(driver: Asked, cluster: Servers, tmp_path: Path) -> None:
    driver.ask("open", folder=str(tmp_path))
    driver.ask("stop")
    driver.ask("open", folder=str(tmp_path), conf={"spark.executor.memory": "64g", "spark.executor.cores": "1"}, wait_seconds=3)
    refused = driver.refused("append", query="select 1 as id")
    assert (refused.error, refused.retryable) == ("Unavailable", True)
    assert f"no executor of {cluster.url} took a task for 3 s" in refused.message
    assert "large enough for executors of 64g and 1 cores; start workers, ask for less (spark.executor.memory" in refused.message
    driver.ask("open", folder=str(tmp_path))
    assert driver.ask("append", query="select 1 as id") == 1


@pytest.mark.usefixtures("quiet")
def test_the_doctor_names_a_master_that_does_not_answer(cluster: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAKELEDGER_SPARK", cluster.url)
    checks = {check["check"]: check for check in answer("doctor", code=1)["checks"]}
    assert (checks["cluster"]["status"], checks["cluster"]["detail"]) == ("ok", f"a master answers at {cluster.url}")
    nobody = f"spark://{HOST}:{free_port()}"
    monkeypatch.setenv("LAKELEDGER_SPARK", nobody)
    checks = {check["check"]: check for check in answer("doctor", code=1)["checks"]}
    assert checks["cluster"]["status"] == "fail"
    assert f"no Spark master at {nobody.removeprefix('spark://')}: Connection refused" in checks["cluster"]["detail"]
