"""Secrets do not get out, and what is no secret stays readable."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakeledger.redaction import scrub, scrub_value, secrets_in

WORDS = st.text("abcdefghijklmnopqrstuvwxyz0123456789%+!$._-", min_size=1, max_size=20)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("postgresql://ann:hunter2@db:5432/shop", "postgresql://ann:***@db:5432/shop"),
        ("cannot reach postgresql://ann:hunter2@db/shop: refused", "cannot reach postgresql://ann:***@db/shop: refused"),
        ("redis://:hunter2@cache", "redis://:***@cache"),
        ("jdbc:postgresql://ann:hunter2@db/shop", "jdbc:postgresql://ann:***@db/shop"),
        ("host=db password=hunter2 user=ann", "host=db password=*** user=ann"),
        ("jdbc:mysql://db/shop?user=ann&password=hunter2&ssl=true", "jdbc:mysql://db/shop?user=ann&password=***&ssl=true"),
        ("Password = hunter2; Database = shop", "Password = ***; Database = shop"),
        ("TOKEN=hunter2", "TOKEN=***"),
        ("api_key=hunter2,region=eu", "api_key=***,region=eu"),
    ],
)
def test_a_password_is_replaced_and_the_rest_is_kept(text: str, expected: str) -> None:
    assert scrub(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://ann:hunter2@secret@db/shop",
        "postgresql://ann:hunter2/secret@db/shop",
        "postgresql://ann:hunter2:secret@db/shop",
        "postgresql://ann:hunter2#secret?@db/shop",
        "connect(password='hunter2 secret')",
        'connect(host="db", password="hunter2 secret")',
        "connect(password='hunter2",
        "{'user': 'ann', 'password': 'hunter2 secret'}",
        '{"user":"ann","api_key":"hunter2"}',
        "PGPASSWORD=hunter2",
        "db_password=hunter2",
        "sslpassword=hunter2",
        "access_token=hunter2",
        "client_secret=hunter2",
        "aws_secret_access_key=hunter2",
        "spark.hadoop.fs.s3a.secret.key=hunter2",
        "-----BEGIN RSA PRIVATE KEY-----\nhunter2\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\nhunter2 and no end",
        "Authorization: Bearer hunter2",
        "authorization: basic hunter2",
        "used bearer hunter2hunter2hunter2",
        "password: hunter2",
        "X-Api-Key: hunter2",
        "https://store/x?sv=1&sig=hunter2&se=2",
        "login failed with eyJhbGciOiJI.hunter2hunter2.c2lnbmF0dXJl",
    ],
)
def test_no_way_to_write_a_secret_lets_it_out(text: str) -> None:
    assert "hunter2" not in scrub(text)
    assert "secret@" not in scrub(text)
    assert "secret'" not in scrub(text)
    assert 'secret"' not in scrub(text)


@given(user=WORDS, password=WORDS, host=WORDS)
def test_no_password_in_a_url_survives(user: str, password: str, host: str) -> None:
    assert scrub(f"x postgresql://{user}:{password}@{host}/db y") == f"x postgresql://{user}:***@{host}/db y"


@pytest.mark.parametrize(
    "text",
    [
        "sqlite:///shop/ledger.db",
        "postgresql://ann@db:5432/shop",
        "http://localhost:8080/tables/orders",
        "http://localhost:8080/users/ann@example.com",
        "run 12 was taken over (token 3, now 4)",
        "the password is wrong",
        "if password == wanted:",
        "ValueError: a: b @ c",
    ],
)
def test_what_is_no_secret_is_left_alone(text: str) -> None:
    assert scrub(text) == text


@given(st.text())
def test_scrubbing_twice_changes_nothing_more(text: str) -> None:
    assert scrub(scrub(text)) == scrub(text)


def test_values_are_scrubbed_by_what_they_say_and_by_what_they_are_called() -> None:
    value = {"a": ["password=hunter2", 7, None], "db_password": "hunter2", "deep": ({"token": ["hunter2"]}, True), "token": "${env:TOKEN}"}
    assert scrub_value(value) == {
        "a": ["password=***", 7, None],
        "db_password": "***",
        "deep": [{"token": ["***"]}, True],
        "token": "${env:TOKEN}",
    }


def test_what_is_called_a_secret_is_none_of_our_business_whatever_it_is() -> None:
    given = {"password": 123456, "secrets": {"db": "x", "n": [1]}, "AccountKey": "x", "batch_size": 5, "token": "${env:TOKEN}"}
    kept = {"password": "***", "secrets": {"db": "***", "n": ["***"]}, "AccountKey": "***", "batch_size": 5, "token": "${env:TOKEN}"}
    assert scrub_value(given) == kept
    assert scrub('.option("password", "hunter2")') == '.option("password", ***)'


def test_secrets_that_a_value_gives_away_are_found_elsewhere() -> None:
    known = secrets_in(
        {"uri": "mongodb://app:hunter2@db", "options": {"password": "s3cr3t!", "port": 1}, "note": "api_key=abcdef", "pwd": "ab"}
    )
    assert known == {"hunter2", "s3cr3t!", "abcdef"}
    assert scrub("tried hunter2 and s3cr3t! and ab", known) == "tried *** and *** and ab"
    assert scrub_value({"hunter2": ["x hunter2"]}, known=known) == {"***": ["x ***"]}


def test_what_is_no_secret_stays() -> None:
    for text in ("unexpected token: ')' at 3", "a basic error", "12:30:45 done", "key: 7", "x = y == z", "https://host:8080/a?b=c"):
        assert scrub(text) == text
