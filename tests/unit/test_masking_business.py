"""A record with innocent columns is kept as it is, so that it can be replayed; what is surely a secret is not."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakeledger import codec
from lakeledger.redaction import MASK, is_clean, scrub_value, secrets_in
from lakeledger.sync.masking import Masking

HASH = "9e107d9d372bb6826bd81d3542a419d6"
UUID = "550e8400-e29b-41d4-a716-446655440000"
GENERATED = "aB3dE5gH1jK2mN4pQ6rS7tU8vW9xY0zA" * 2 + "=="


@pytest.mark.parametrize(
    "record",
    [
        *({"account_key": 1042}, {"account_key": "AB-1042"}, {"account_key": HASH}, {"account_key": UUID}, {"AccountKey": "A1"}),
        *({"subscription_key": "SUB-77"}, {"storage_key": "orders/2026/01"}, {"master_key": "MDM-12345"}, {"shared_key": "K"}),
        *({"access_key": "AB12"}, {"access_keys": "3"}, {"date_key": 20260101}, {"product_key": "XXXXX-YYYYY"}, {"key": "a"}),
        *({"pass": "yes"}, {"ski_pass": "season"}, {"boarding_pass": "A12-XYZ"}, {"first_pass": "ok"}, {"passport_number": "C01X00T47"}),
        *({"sas": "12"}, {"sas": ["a", "b"]}, {"sas_region": "north"}, {"pw": "7.5 kW"}, {"auth": "ok"}, {"auth_method": "card"}),
        *({"authorization": "approved"}, {"authorization_code": "A12B34"}, {"credentials": "MD, PhD"}, {"cookie": "chocolate chip"}),
        *({"secret_santa": "Ann"}, {"secret_level": "high"}, {"secretary": "Bob"}, {"token_symbol": "ETH"}, {"page_token": "abc"}),
        *({"token_address": "0x1234567890abcdef1234567890abcdef12345678"}, {"password_changed_at": "2026-01-01"}, {"password": ""}),
        *({"note": "pass=yes, account_key=AB-77"}, {"payload": '{"account_key":"AB-77","pass":"yes","token":1042}'}),
        *({"name": "pass", "value": "yes"}, {"key": "account_key", "value": "A1"}, {"columns": {"password": "varchar(50)"}}),
        *({"salesforce_id": "0015e00000AbCdEAAV"}, {"iban": "DE89370400440532013000"}, {"signature": "Ann Smith"}, {"etag": f'"{HASH}"'}),
        *(
            {"url": "https://shop.example/p?id=5&key=abc#top"},
            {"comment": "It's 5 o'clock: call 'Bob' = fine"},
            {"email": "key@pass.example"},
        ),
        {"path": "s3://bucket/orders/account_key=1042/pass=yes/part-0.parquet"},
        *(
            {"storage_key": "s3://bucket/Year=2026/month=01/part-00000.snappy.parquet"},
            {"storage_key": "Orders/2026/EU/parts/00000000001/a"},
        ),
        *({"subscription_key": "urn:sub:Shop-EU:2026-01-02:customer:1042:Plan"}, {"account_key": "Shop-EU_customer-0001_Order-2026-11-17"}),
        *({"shared_key": "Order-2026-11-17T00:00:00Z-customer-0001"}, {"note": "shared_key=Order-2026-11-17T00:00:00Z-customer-0001"}),
    ],
    ids=repr,
)
def test_business_data_is_kept_whole(record: dict[str, Any]) -> None:
    masked = Masking().mask(record, Masking().hidden(record))
    assert masked.data == record
    assert masked.complete


@pytest.mark.parametrize(
    "value", [12345, 0, 1.5, True, None, Decimal(1042), Decimal("12.50"), date(2026, 1, 2), datetime(2026, 1, 2, tzinfo=UTC)], ids=repr
)
@pytest.mark.parametrize("name", ["password", "token", "api_key", "account_key"])
def test_numbers_flags_and_dates_are_never_masked(name: str, value: object) -> None:
    assert Masking().mask({name: value}).complete


@pytest.mark.parametrize(
    "record",
    [
        *(
            {"password": "hunter2"},
            {"dbPassword": "hunter2"},
            {"old_password": "hunter2"},
            {"password_hash": "hunter2"},
            {"db_pass": "hunter2"},
        ),
        *(
            {"api_key": "hunter2"},
            {"X-Api-Key": "hunter2"},
            {"client_secret": "hunter2"},
            {"refresh_token": "hunter2"},
            {"token": "hunter2"},
        ),
        *(
            {"private_key": "hunter2"},
            {"secret_access_key": "hunter2"},
            {"credentials": {"user": "hunter2"}},
            {"name": "password", "value": "hunter2"},
        ),
        *({"headers": {"Authorization": "Basic hunter2"}}, {"cookie": "session=hunter2"}, {"text": "password=hunter2"}),
        *({"url": "https://ann:hunter2@h"}, {"body": '{"password": "hunter2"}'}),
    ],
    ids=repr,
)
def test_what_is_surely_a_secret_is_not_kept(record: dict[str, Any]) -> None:
    masked = Masking().mask(record)
    assert "hunter2" not in str(masked.data)
    assert not masked.complete


def test_a_generated_value_under_the_name_of_a_business_key_is_a_credential() -> None:
    assert Masking().mask({"account_key": GENERATED, "storage_key": HASH}).data == {"account_key": MASK, "storage_key": HASH}


@pytest.mark.parametrize(
    "value",
    [
        GENERATED[:32],
        "aB3/dE5gH1jK2mN4pQ6r+7tU8vW9xY0zAbC1/eFg",
        "aB3-dE5gH1_K2mN-pQ6rS7t_8vW9xY-zA1bC2dE=",
        "8LKN3mKk2rMhcZk-Ji2VOFVV-W_cN_j6vTdDWUMdTJUOAzFu",
    ],
)
def test_whatever_alphabet_a_credential_is_written_in_it_is_not_kept(value: str) -> None:
    for record in ({"access_key": value}, {"note": f"access_key={value}."}, {"note": f"the access_key={value}, again"}):
        assert value not in str(Masking().mask(record).data)


def test_what_is_unmasked_is_kept_whatever_it_is_called() -> None:
    masking = Masking(unmask=("token", "payload.secret", "api_*"))
    record = {"token": "ETH", "api_name_key": "x", "API_KEY": "y", "payload": {"secret": "z"}, "secret": "hunter2"}
    assert masking.mask(record).data == {**record, "secret": MASK}
    assert masking.hidden(record) == {"hunter2"}
    assert masking.mask({"note": "token=ETH, password=hunter2"}).data == {"note": "token=ETH, password=***"}


def test_a_token_is_masked_also_where_its_name_is_unmasked() -> None:
    record = {"token": "ghp_" + "a1B2" * 6, "note": "password=yes https://ann:hunter2@h"}
    assert Masking(unmask=("token", "note")).mask(record).data == {"token": MASK, "note": "password=yes https://ann:***@h"}


def test_a_masked_column_is_masked_although_it_is_unmasked() -> None:
    assert Masking(("email",), unmask=("email",)).mask({"email": "a@b.example"}).data == {"email": MASK}


def test_details_are_masked_by_any_name_of_a_secret_but_the_unmasked_ones() -> None:
    details = {"pass": "hunter2", "account_key": "hunter3", "token": "ETH", "attempts": 3}
    assert Masking(unmask=("token",)).mask_details(details) == {"pass": MASK, "account_key": MASK, "token": "ETH", "attempts": 3}


TEXTS = st.text(max_size=20) | st.sampled_from(
    [
        *(
            "hunter2",
            "https://ann:hunter2@h",
            "ghp_" + "a1B2" * 6,
            "\nghp_" + "a1B2" * 6,
            "Bearer " + "a1" * 9,
            "-u ann:hunter2",
            "a:b@tcp(h)",
        ),
        *("mysql -phunter2", "sig=hunter2", "login ann password x", "connect to a user b using c", "scott/tiger", "customer_address_line"),
    ]
)
NAMES = st.text(max_size=8) | st.sampled_from(
    ["password", "apiKey", "api____key", "API2KEY", "bindpw", "sas", "JSESSIONID", "Set-Cookie", "auth", "access_signature", "id", "a" * 20]
)
RECORDS = st.dictionaries(
    NAMES, st.recursive(TEXTS | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(NAMES, inner), max_leaves=6)
)


@given(record=RECORDS)
def test_what_passes_for_clean_at_a_glance_has_no_secret(record: dict[str, Any]) -> None:
    if is_clean(codec.to_json(record)):
        assert scrub_value(record) == record
        assert secrets_in(record) == frozenset()
