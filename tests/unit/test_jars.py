"""Which JARs a session takes, how it reaches storage, and what is said where it cannot."""

from __future__ import annotations

from pathlib import Path

import pytest

from lakeledger.config import S3Settings, Settings, SparkSettings
from lakeledger.errors import Invalid, NotInstalled, Unavailable
from lakeledger.pipelines import jars
from lakeledger.pipelines.reach import spark_settings, storage_failure

ENDPOINT = "http://127.0.0.1:9000"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and no variables of whoever runs the tests."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for name in ("SPARK_REMOTE", "SPARK_HOME", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "lakeledger/jars"


def put(name: str) -> list[str]:
    """Files of the right sizes, as if the set had been fetched."""
    jars.folder().mkdir(parents=True, exist_ok=True)
    for jar in jars.find(name).jars:
        with jar.path.open("wb") as file:
            file.truncate(jar.size)
    return [str(jar.path) for jar in jars.find(name).jars]


def on_s3(**spark: object) -> SparkSettings:
    return spark_settings(Settings(warehouse="s3://lake/x", s3=S3Settings(ENDPOINT), spark=SparkSettings(**spark)))  # type: ignore[arg-type]


def test_a_local_warehouse_takes_nothing(cache: Path) -> None:
    for warehouse in ("lake", "/lake", "file:///lake", None):
        assert spark_settings(Settings(warehouse=warehouse)) == SparkSettings()
    assert jars.conf(SparkSettings()) == {}
    assert not cache.exists()


def test_spark_reaches_s3_as_the_settings_say() -> None:
    found = on_s3()
    assert found.jars == ("s3",)
    s3a = {name.removeprefix("spark.hadoop.fs.s3a."): value for name, value in found.conf.items()}
    assert (s3a["endpoint"], s3a["endpoint.region"], s3a["path.style.access"], s3a["committer.name"]) == (
        ENDPOINT,
        "us-east-1",
        "true",
        "magic",
    )
    aws = spark_settings(Settings(warehouse="s3a://lake")).conf
    assert not {"spark.hadoop.fs.s3a.endpoint", "spark.hadoop.fs.s3a.endpoint.region"} & aws.keys()
    assert aws["spark.hadoop.fs.s3a.path.style.access"] == "false"
    assert not any("secret" in name or "access.key" in name for name in found.conf)


def test_the_user_has_the_last_word_and_a_connect_server_its_own() -> None:
    assert on_s3(conf={"spark.hadoop.fs.s3a.endpoint": "http://mine"}).conf["spark.hadoop.fs.s3a.endpoint"] == "http://mine"
    assert on_s3(remote="sc://server") == SparkSettings(remote="sc://server")
    assert on_s3(remote="local[2]").jars == ("s3",)


def test_sources_on_s3_beside_a_local_warehouse_ask_for_it() -> None:
    found = spark_settings(Settings(warehouse="lake", spark=SparkSettings(jars=("postgresql", "s3"))))
    assert found.jars == ("postgresql", "s3")
    assert "spark.hadoop.fs.s3a.aws.credentials.provider" in found.conf


def test_missing_jars_are_told_with_the_command_that_fetches_them() -> None:
    with pytest.raises(NotInstalled, match=r"JARs of s3 kafka, which are not here: run `lakeledger jars fetch s3 kafka` once"):
        jars.conf(SparkSettings(jars=("s3", "kafka")))
    with pytest.raises(Invalid, match=r"there are no JARs 'icebreg': choose from s3, .*did you mean 'iceberg'\?"):
        jars.conf(SparkSettings(jars=("icebreg",)))


def test_fetched_jars_are_added_to_the_users_own() -> None:
    paths = put("s3") + put("postgresql")
    settings = SparkSettings(jars=("s3", "postgresql"), conf={"spark.jars": "/mine.jar"})
    assert jars.conf(settings) == {"spark.jars": ",".join(["/mine.jar", *paths])}
    Path(paths[0]).write_bytes(b"cut off")
    with pytest.raises(NotInstalled, match="JARs of s3, which"):
        jars.conf(settings)


def test_what_the_user_brings_is_not_asked_for() -> None:
    own = SparkSettings(jars=("s3",), conf={"spark.jars.packages": "org.apache.hadoop:hadoop-aws:3.4.2"})
    assert jars.conf(own) == {}


def test_every_set_is_recorded_with_hashes_and_versions() -> None:
    assert list(jars.known()) == ["s3", "postgresql", "sqlite", "delta", "iceberg", "kafka", "avro"]
    for each in jars.known().values():
        assert each.jars
        assert all(len(jar.sha256) == 64 and jar.size > 0 for jar in each.jars)
        assert any(each.marker in jar.name for jar in each.jars)
        assert each.state() == "missing"


@pytest.mark.parametrize(
    ("told", "error", "expected"),
    [
        (
            "java.lang.ClassNotFoundException: Class org.apache.hadoop.fs.s3a.S3AFileSystem not found",
            NotInstalled,
            "lakeledger jars fetch s3",
        ),
        ('UnsupportedFileSystemException: No FileSystem for scheme "gs"', NotInstalled, "com.google.cloud.bigdataoss:gcs-connector"),
        ("Class org.apache.hadoop.fs.azurebfs.SecureAzureBlobFileSystem not found", NotInstalled, "org.apache.hadoop:hadoop-azure"),
        (
            (
                "java.net.ConnectException: getFileStatus on s3a://lake/x: software.amazon.awssdk.core.exception.SdkClientException: "
                "Unable to execute HTTP request: Connection refused"
            ),
            Unavailable,
            "s3://lake cannot be reached",
        ),
        ("AccessDeniedException: s3a://lake/x: getFileStatus: S3Exception: (Status Code: 403)", Unavailable, "s3://lake refuses access"),
    ],
)
def test_what_spark_says_of_storage_is_told_as_ours(told: str, error: type[Exception], expected: str) -> None:
    found = storage_failure(told)
    assert isinstance(found, error)
    assert expected in str(found)


@pytest.mark.parametrize(
    "told", ["Column 'x' timed out", "[CAST] in file s3a://lake/1.csv: 'abc' is no number", "Connection refused: kafka"]
)
def test_other_failures_are_none_of_the_stores(told: str) -> None:
    assert storage_failure(told) is None
