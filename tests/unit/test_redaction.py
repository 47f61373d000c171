"""Secrets do not get out, and what is no secret stays readable."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakeledger.redaction import is_secret_name, scrub, scrub_value, secrets_in

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
        "postgresql://app:1234/hunter2@db",
        "mongodb://app:hunter2'x@h",
        "mongodb://app:x'hunter2@h",
        "see http://x/y?next=postgres://app:hunter2@h",
        "jdbc:oracle:thin:scott/hunter2@//h",
        "user:hunter2@tcp(h:3306)/db",
        "https://ghp_hunter2abcdefghijklmnop@github.com/x",
        "https://hunter2hunter2hunter2a@sentry.example/1",
        "Driver=x;PWD={a;hunter2};Server=y",
        r"{\"password\": \"hunter2\"}",
        r"{\"password\": \"a\\\"hunter2\"}",
        r'{"password": "a\"hunter2"}',
        "password='a''hunter2'",
        "Authorization: Token hunter2",
        "Authorization: Digest username=ann, response=hunter2",
        "AWS4-HMAC-SHA256 Credential=x/eu/s3, SignedHeaders=host, Signature=hunter2",
        "X-Vault-Token: hunter2",
        "Cookie: session=hunter2",
        "Cookie: a=b; session=hunter2",
        "password:hunter2",
        "secret: hunter2",
        "<password>hunter2</password>",
        "<ns:dbPassword kind='x'>hunter2</ns:dbPassword>",
        "--password hunter2",
        "tool --db-password 'hunter2 x'",
        "curl -u a:hunter2 http://h",
        "curl --user 'a:hunter2' http://h",
        "pass=hunter2",
        "db_pass=hunter2",
        "password%3Dhunter2",
        "q=x%26password%3Dhunter2%26y",
        "error: password=hunter2",
        '{"credentials": {"user": "hunter2"}}',
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
        "InvalidToken: the text cannot be read",
        "Done. PASS=12 WARN=0 ERROR=0",
        "token_count=5, next_page_token=abc",
        "resume_token=8263F1",
        '{"resumeToken": "8263F1"}',
        "the secretary: Ann",
        "docker run -u 1000:1000 image",
        "use --token-file tokens.txt",
        "mongodb://h:27017/db?x=a@b",
        "secret://vault/orders",
        '{"password": null, "token": true}',
        '{"uri":"http://h:80","email":"a@b.example"}',
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
    assert scrub('.option("password", "hunter2")') == '.option("password", "***")'


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


@pytest.mark.parametrize(
    "name",
    [
        *("secretary", "token_count", "tokens", "password_changed_at", "authorization_status", "next_page_token", "pageToken"),
        *("resume_token", "resumeToken", "token_endpoint", "password_encoding", "secret_name", "tokenType", "credentials_path"),
        *(
            "access_key_id",
            "compass",
            "monkey",
            "primary_key",
            "key",
            "passenger",
            "bypass",
            "token_expires_at",
            "disas",
            "pass_through",
            "",
        ),
    ],
)
def test_a_name_that_only_resembles_a_secret_is_none(name: str) -> None:
    assert not is_secret_name(name)
    assert scrub_value({name: "visible"}) == {name: "visible"}


@pytest.mark.parametrize(
    "name",
    [
        *("password", "PGPASSWORD", "dbPassword", "user.password", "passphrase", "pwd", "db_pass", "client-secret", "secret_id", "apiKey"),
        *("api_key", "APIKey", "apikey", "X-Api-Key", "AccountKey", "fs.azure.account.key.shop.dfs.core.windows.net", "private_key"),
        *("accessToken", "accesstoken", "X-Vault-Token", "credentials", "Proxy-Authorization", "sas", "sas_token", "Set-Cookie"),
        *("page_access_token", "password2", "aws_secret_access_key", "password_hash", "SharedAccessSignature"),
    ],
)
def test_a_name_with_a_secret_word_is_a_secret(name: str) -> None:
    assert is_secret_name(name)
    assert scrub_value({name: "hunter2"}) == {name: "***"}


def test_tests_that_passed_are_counted() -> None:
    assert scrub_value({"pass": 12, "fail": 0, "db_pass": "hunter2"}) == {"pass": 12, "fail": 0, "db_pass": "***"}


def test_a_bare_databricks_token_is_found() -> None:
    assert scrub("login with dapi" + "0123456789abcdef" * 2 + " failed") == "login with *** failed"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"token":"x"}', '{"token":"***"}'),
        ('{"password": 1234}', '{"password": "***"}'),
        ('{"password": 1234, "n": 5}', '{"password": "***", "n": 5}'),
        ('{"secrets": ["a", "b"], "n": 5}', '{"secrets": "***", "n": 5}'),
        ('{"credentials": {"user": "x"}, "n": 5}', '{"credentials": "***", "n": 5}'),
        ('{"dsn":"host=db password=hunter2","n":5}', '{"dsn":"host=db password=***","n":5}'),
        (r'{"text":"{\"password\":\"hunter2\"}"}', r'{"text":"{\"password\":\"***\"}"}'),
        (r'{"text":"x=\"password=hunter2\""}', r'{"text":"x=\"password=***\""}'),
    ],
)
def test_json_stays_json(text: str, expected: str) -> None:
    assert scrub(text) == expected
    json.loads(expected)


def test_a_known_secret_is_replaced_as_a_whole_word_only() -> None:
    assert scrub("preorders and orders2 and orders_old", {"orders"}) == "preorders and orders2 and ***_old"
    assert scrub("a%20long-enough-to-be-sure", {"long-enough-to-be-sure"}) == "a%20***"


def test_short_words_are_no_known_secrets_unless_they_are_passwords() -> None:
    assert secrets_in({"token": "orders", "password": "orders1", "api_key": "abcde", "pwd": "abcd"}) == {"orders1", "abcde"}
    assert secrets_in({"token": "a-longer-one"}) == {"a-longer-one"}
    assert secrets_in("mongodb://app:p%40ssword@h") == {"p%40ssword", "p@ssword"}


def test_a_value_is_known_by_the_name_that_stands_beside_it() -> None:
    parameters = [{"name": "db_password", "default": "hunter2"}, {"name": "day", "default": "today"}]
    change = {"field": "parameters.api_token.default", "side": "ours", "before": "hunter2", "ours": "hunter3", "theirs": None}
    assert scrub_value(parameters) == [{"name": "db_password", "default": "***"}, {"name": "day", "default": "today"}]
    assert scrub_value(change) == {**change, "before": "***", "ours": "***"}


@pytest.mark.parametrize("text", ["postgresql://ann:{{env.DB_PASSWORD}}@host/db", "mysql://ann:${env:PW}@host/db"])
def test_where_a_secret_is_found_is_none_itself(text: str) -> None:
    assert scrub(text) == text
    assert scrub_value({"password": "{{env.DB_PASSWORD}}"}) == {"password": "{{env.DB_PASSWORD}}"}
    assert scrub("postgresql://ann:{{hunter2@host/db") == "postgresql://ann:***@host/db"
