"""Settings: defaults, then the file, then the environment, then the call."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import lakeledger
from lakeledger import config
from lakeledger.config import S3Settings, Settings, SparkSettings
from lakeledger.errors import Invalid


def write(folder: Path, text: str) -> Path:
    path = folder / config.FILE_NAME
    path.write_text(text, encoding="utf-8")
    return path


def test_without_a_file_the_defaults_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    settings = config.load(env={})
    assert (settings.tenant, settings.lease_seconds, settings.spark) == ("default", 60.0, SparkSettings())
    assert settings.database_url == f"sqlite:///{tmp_path}/lakeledger.db"
    assert settings.warehouse_uri == f"{tmp_path}/warehouse"


def test_a_file_says_it_all(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """
        url = "postgresql://ann@db/shop"
        warehouse = "s3://lake/shop/"
        tenant = "acme"
        lease_seconds = 90
        [spark]
        master = "spark://host:7077"
        app_name = "shop"
        [spark.conf]
        "spark.sql.shuffle.partitions" = 4
        "spark.ui.enabled" = false
        """,
    )
    settings = config.read_file(path)
    assert settings.database_url == "postgresql://ann@db/shop"
    assert settings.warehouse_uri == "s3://lake/shop"
    assert (settings.tenant, settings.lease_seconds) == ("acme", 90)
    assert settings.spark == SparkSettings(
        "spark://host:7077", None, "shop", {"spark.sql.shuffle.partitions": "4", "spark.ui.enabled": "false"}
    )


def test_columns_are_masked_and_unmasked_by_lists_of_patterns(tmp_path: Path) -> None:
    path = write(tmp_path, "[capture]\nmask = ['email', 'card.*']\nunmask = ['token']\n")
    assert (config.read_file(path).capture.mask, config.read_file(path).capture.unmask) == (("email", "card.*"), ("token",))


def test_spark_options_may_be_written_without_quotes(tmp_path: Path) -> None:
    path = write(tmp_path, "[spark.conf]\nspark.sql.shuffle.partitions = 4\nspark.ui.enabled = false\nspark.sql.ansi = 'x'\n")
    assert config.read_file(path).spark.conf == {
        "spark.sql.shuffle.partitions": "4",
        "spark.ui.enabled": "false",
        "spark.sql.ansi": "x",
    }


def test_relative_paths_in_a_file_are_relative_to_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "deep").mkdir()
    monkeypatch.chdir(tmp_path / "deep")
    write(tmp_path, 'url = "sqlite:///state/ledger.db"\nwarehouse = "lake"')
    settings = config.load(env={})
    assert settings.database_url == f"sqlite:///{tmp_path}/state/ledger.db"
    assert settings.warehouse_uri == f"{tmp_path}/lake"


def test_the_nearest_file_counts(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    write(tmp_path, "")
    assert config.find_file(inner) == tmp_path / config.FILE_NAME
    write(tmp_path / "a", "")
    assert config.find_file(inner) == tmp_path / "a" / config.FILE_NAME


def test_the_environment_overrides_the_file_and_the_call_overrides_both(tmp_path: Path) -> None:
    path = write(tmp_path, 'tenant = "of_file"\nwarehouse = "s3://file"\nurl = "postgresql://file/db"')
    env = {"LAKELEDGER_TENANT": "of_env", "LAKELEDGER_WAREHOUSE": "s3://env"}
    settings = config.load(path, env, tenant="of_call", warehouse=None)
    assert (settings.tenant, settings.warehouse_uri, settings.url) == ("of_call", "s3://env", "postgresql://file/db")


def test_an_empty_variable_is_no_setting(tmp_path: Path) -> None:
    path = write(tmp_path, 'tenant = "of_file"')
    assert config.load(path, {"LAKELEDGER_TENANT": "", "LAKELEDGER_SPARK": ""}).tenant == "of_file"


@pytest.mark.parametrize("name", ["url", "warehouse", "tenant"])
def test_what_is_empty_in_a_call_is_refused_and_not_the_default(tmp_path: Path, name: str) -> None:
    for empty in ("", " "):
        with pytest.raises(Invalid, match=f"{name} cannot be empty"):
            config.load(None, {}, **{name: empty})
    with pytest.raises(Invalid, match="tenant cannot be empty"):
        lakeledger.open(Settings(url=f"sqlite:///{tmp_path}/ledger.db"), tenant="")
    with pytest.raises(Invalid, match="url must be text, not object: write sqlite:///"):
        lakeledger.open(object())  # type: ignore[arg-type]


def test_spark_is_reached_by_master_or_by_connect(tmp_path: Path) -> None:
    path = write(tmp_path, '[spark]\nmaster = "local[2]"\nremote = "sc://old"\napp_name = "shop"')
    assert config.load(path, {"LAKELEDGER_SPARK": "sc://new"}).spark == SparkSettings("local[2]", "sc://new", "shop")
    assert config.load(path, {"LAKELEDGER_SPARK": "local[4]"}).spark == SparkSettings("local[4]", None, "shop")


def test_paths_given_in_the_call_are_relative_to_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "deep").mkdir()
    write(tmp_path, 'tenant = "acme"')
    monkeypatch.chdir(tmp_path / "deep")
    settings = config.load(env={"LAKELEDGER_WAREHOUSE": "lake"}, url="sqlite:///ledger.db")
    assert settings.tenant == "acme"
    assert settings.database_url == f"sqlite:///{tmp_path}/deep/ledger.db"
    assert settings.warehouse_uri == f"{tmp_path}/deep/lake"


def test_a_sqlite_ledger_keeps_its_tables_beside_its_file_wherever_it_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "deep").mkdir()
    write(tmp_path, 'tenant = "acme"')
    monkeypatch.chdir(tmp_path / "deep")
    with lakeledger.open("sqlite:///shop/ledger.db") as ledger:
        assert ledger.database.url == f"sqlite:///{tmp_path}/deep/shop/ledger.db"
        assert ledger.warehouse == f"{tmp_path}/deep/shop/warehouse/acme"


def test_a_tilde_is_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    settings = Settings(url="sqlite:///~/ledger.db", warehouse="~/lake")
    assert settings.database_url == f"sqlite:///{tmp_path}/ledger.db"
    assert settings.warehouse_uri == f"{tmp_path}/lake"


def test_an_absolute_sqlite_path_stays() -> None:
    assert Settings(url="sqlite:////var/lib/ledger.db").database_url == "sqlite:////var/lib/ledger.db"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('tennant = "a"', "unknown setting 'tennant'; did you mean 'tenant'?"),
        ('zzz = "a"', "unknown setting 'zzz'"),
        ('[spark]\nmastre = "x"', "unknown setting 'spark.mastre'; did you mean 'master'?"),
        ("tenant = 3", "setting 'tenant' has the wrong type: 3"),
        ("lease_seconds = true", "setting 'lease_seconds' has the wrong type: True"),
        ('lease_seconds = "60"', "setting 'lease_seconds' has the wrong type: '60'"),
        ('spark = "local[2]"', "setting 'spark' has the wrong type: 'local[2]'"),
        ("[spark]\nconf = 3", "setting 'spark.conf' has the wrong type: 3"),
        ("lease_seconds = 0", "lease_seconds must be positive, not 0"),
        ("lease_seconds = nan", "lease_seconds must be positive, not nan"),
        ("lease_seconds = inf", "lease_seconds must be positive, not inf"),
        ('tenant = "Acme"', "tenant 'Acme' must match"),
        ("tenant = ", "not valid TOML"),
    ],
)
def test_a_mistake_in_the_file_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(Invalid) as caught:
        config.read_file(write(tmp_path, text))
    assert message in str(caught.value)


@pytest.mark.parametrize("text", ['tennant = "a"', "tenant = 3", "tenant = "])
def test_a_mistake_is_told_with_the_file_it_is_in(tmp_path: Path, text: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(Invalid, match=str(path)):
        config.read_file(path)


def test_a_file_that_is_not_there_or_not_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="cannot read"):
        config.load(tmp_path / "nothing.toml", {})
    path = tmp_path / "binary.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(Invalid, match="not valid TOML"):
        config.read_file(path)


@given(st.text(st.sampled_from("aZ_0-. \n/'é"), max_size=6) | st.text())
@example("acme\n")
@example("a" * 63)
@example("a" * 64)
def test_a_tenant_is_lower_case_and_safe_in_a_path_or_refused(tenant: str) -> None:
    allowed = (
        0 < len(tenant) <= 63 and tenant[0] in "abcdefghijklmnopqrstuvwxyz" and set(tenant) <= set("abcdefghijklmnopqrstuvwxyz0123456789_")
    )
    if allowed:
        assert Settings(tenant=tenant).tenant == tenant
    else:
        with pytest.raises(Invalid, match="tenant"):
            Settings(tenant=tenant)


def test_how_s3_is_reached_is_a_setting_and_by_default_what_aws_tools_take(tmp_path: Path) -> None:
    path = write(tmp_path, "[s3]\nendpoint = 'http://127.0.0.1:9000'\npath_style = false\n")
    settings = config.load(path, {"LAKELEDGER_S3_REGION": "eu-central-1"}).s3
    assert settings == S3Settings("http://127.0.0.1:9000", "eu-central-1", path_style=False)
    assert settings.resolved({"AWS_ENDPOINT_URL": "http://other", "AWS_REGION": "us-west-2"}) == settings
    aws = {"AWS_ENDPOINT_URL": "http://minio:9000/", "AWS_DEFAULT_REGION": "us-west-2"}
    assert S3Settings().resolved(aws) == S3Settings("http://minio:9000", "us-west-2", path_style=True)
    assert S3Settings().resolved({}) == S3Settings(None, None, path_style=False)
    assert config.load(path, {"LAKELEDGER_S3_PATH_STYLE": "True"}).s3.path_style is True


@pytest.mark.parametrize("endpoint", ["minio:9000", "http://", "http://key:hunter2hunter2@minio:9000", "http://minio/bucket", "s3://lake"])
def test_an_endpoint_is_the_url_of_a_server(endpoint: str) -> None:
    with pytest.raises(Invalid, match=r"s3\.endpoint must be http://host:port") as refused:
        S3Settings(endpoint)
    assert "hunter2" not in str(refused.value)


def test_a_truth_value_is_true_or_false(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="LAKELEDGER_S3_PATH_STYLE must be true or false, not 'maybe'"):
        config.load(write(tmp_path, ""), {"LAKELEDGER_S3_PATH_STYLE": "maybe"})
    with pytest.raises(Invalid, match=r"setting 's3.path_style' has the wrong type: 'yes'"):
        config.read_file(write(tmp_path, "[s3]\npath_style = 'yes'"))
    with pytest.raises(Invalid, match=r"unknown setting 's3.secret_key'"):
        config.read_file(write(tmp_path, "[s3]\nsecret_key = 'x'"))


def test_jars_are_a_list_of_names(tmp_path: Path) -> None:
    assert config.read_file(write(tmp_path, "[spark]\njars = ['s3', 'postgresql']")).spark.jars == ("s3", "postgresql")
    with pytest.raises(Invalid, match=r"'spark.jars' must be a list of texts"):
        config.read_file(write(tmp_path, "[spark]\njars = [1]"))
