"""Addresses of Spark: what is wrong with one is said without what it holds."""

from __future__ import annotations

import pytest

from lakeledger import Invalid, SparkSettings, Unavailable
from lakeledger.pipelines.cluster import check_master
from lakeledger.pipelines.remote import address_of, check_address

SECRET = "hunter2hunter2"


@pytest.mark.parametrize(
    ("address", "place"),
    [
        ("sc://spark.example", ("spark.example", 15002)),
        ("sc://spark.example:443/", ("spark.example", 443)),
        (f"sc://spark.example:443/;use_ssl=true;token={SECRET}%3D", ("spark.example", 443)),
        ("sc://[::1]:15002/;user_id=ann", ("::1", 15002)),
    ],
)
def test_an_address_has_a_host_and_a_port(address: str, place: tuple[str, int]) -> None:
    assert address_of(address) == place


@pytest.mark.parametrize(
    ("address", "told"),
    [
        (f"spark.example;token={SECRET}", "write sc://host:15002"),
        (f"http://spark.example/;token={SECRET}", "write sc://host:15002"),
        (f"sc://spark.example:15002;token={SECRET}", "stand behind a slash"),
        (f"sc://spark.example:15002&token={SECRET}", "no number as its port"),
        (f"sc://spark.example:15002?token={SECRET}", "write sc://host:15002"),
        (f"sc://ann:{SECRET}@spark.example:15002", "write sc://host:15002"),
        (f"sc://spark.example/;token={SECRET}==", "token has more than one equals sign: write %3D"),
        (f"sc://spark.example/;{SECRET}", "one has no equals sign"),
        (f"sc://spark.example/{SECRET}", "write sc://host:15002"),
        ("sc://", "write sc://host:15002"),
    ],
)
def test_a_wrong_address_is_refused_without_its_token(address: str, told: str) -> None:
    with pytest.raises(Invalid, match=told) as refused:
        address_of(address)
    assert SECRET not in str(refused.value)
    assert refused.value.__cause__ is None


def test_settings_do_not_show_a_token() -> None:
    assert SECRET not in repr(SparkSettings(remote=f"sc://spark.example/;token={SECRET}"))


@pytest.mark.parametrize("address", ["spark://", "spark://host", "spark://host:port", "spark://a:7077,b"])
def test_a_master_has_a_host_and_a_port(address: str) -> None:
    with pytest.raises(Invalid, match="write spark://host:7077"):
        check_master(address)


def test_nobody_there_is_said_at_once() -> None:
    with pytest.raises(Unavailable, match=r"no Spark Connect server at 127\.0\.0\.1:1: Connection refused; see that it runs"):
        check_address("sc://127.0.0.1:1")
    with pytest.raises(Unavailable, match=r"no Spark master at 127\.0\.0\.1:1: .*, 127\.0\.0\.1:2: Connection refused; see that it runs"):
        check_master("spark://127.0.0.1:1,127.0.0.1:2")
    check_master("local[2]")
    check_master("yarn")


@pytest.mark.parametrize("seconds", [0, -1, float("inf")])
def test_a_wait_is_a_positive_number_of_seconds(seconds: float) -> None:
    with pytest.raises(Invalid, match="wait_seconds must be positive"):
        SparkSettings(wait_seconds=seconds)
