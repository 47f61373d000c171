"""`lakeledger jars`: a set of JARs from Maven Central, by Spark's resolver."""

from __future__ import annotations

from pathlib import Path

import pytest

from integration.commands import answer, refused, shown
from jars import MissingJars, fetch
from lakeledger.pipelines import jars
from needs import missing

pytestmark = pytest.mark.usefixtures("quiet")

NOWHERE = """\
<ivysettings>
  <settings defaultResolver="nowhere"/>
  <resolvers><ibiblio name="nowhere" m2compatible="true" root="http://127.0.0.1:9/maven2/"/></resolvers>
</ivysettings>
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache/lakeledger/jars"


def without_network(folder: Path) -> None:
    """From now on nothing can be fetched."""
    (folder / "ivy.xml").write_text(NOWHERE, encoding="utf-8")
    settings = f'[spark.conf]\n"spark.jars.ivySettings" = "{folder / "ivy.xml"}"\n'
    (folder / "lakeledger.toml").write_text(settings, encoding="utf-8")


def test_jars_are_fetched_once_checked_and_then_used_offline(cache: Path, tmp_path: Path) -> None:
    try:
        fetch("postgresql")
    except MissingJars as error:
        missing(str(error))
    without_network(tmp_path)
    (again,) = answer("jars", "fetch", "postgresql")["jars"]
    assert (again["name"], again["state"], again["fetched"], again["files"]) == ("postgresql", "ready", False, 1)
    assert {each["name"]: each["state"] for each in answer("jars", "list")["jars"]} == {
        "s3": "missing",
        "postgresql": "ready",
        "sqlite": "missing",
        "delta": "missing",
        "iceberg": "missing",
        "kafka": "missing",
        "avro": "missing",
    }
    (jar,) = jars.find("postgresql").jars
    assert [path.name for path in cache.glob("*.jar")] == [jar.name]
    assert f"{cache}" in shown("jars", "list")
    jar.path.write_bytes(b"\0" * jar.size)
    assert "damaged" in {each["state"] for each in answer("jars", "list")["jars"]}


def test_without_a_network_it_says_so(cache: Path, tmp_path: Path) -> None:
    without_network(tmp_path)
    error = answer("jars", "fetch", "postgresql", code=1)["error"]
    assert error["type"] == "Unavailable"
    assert "the JARs of postgresql cannot be fetched: Maven Central is not reached; check the network" in error["message"]
    assert list(cache.glob("*")) == []


def test_a_pom_that_a_partial_maven_run_left_is_named(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / ".m2/repository/org/postgresql/postgresql/42.7.8"
    folder.mkdir(parents=True)
    (folder / "postgresql-42.7.8.pom").write_text(
        "<project><modelVersion>4.0.0</modelVersion><groupId>org.postgresql</groupId>"
        "<artifactId>postgresql</artifactId><version>42.7.8</version></project>",
        encoding="utf-8",
    )
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", f"-Duser.home={tmp_path}")
    error = answer("jars", "fetch", "postgresql", code=1)["error"]
    assert error["type"] == "Failed"
    assert f"{folder} has a POM without its JAR, and is looked into first; remove it" in error["message"]


def test_what_is_no_set_is_refused() -> None:
    refused(["jars", "fetch", "s4"], 2, "Invalid", "there are no JARs 's4': choose from s3, postgresql, sqlite, delta, iceberg, kafka")
