"""What is written in SQL, on command lines, in prose and as a token does not get out, whatever it is called."""

from __future__ import annotations

import itertools
import random
import time

import pytest

from lakeledger.redaction import CONFIGURATION, RECORD, SHAPES, Rules, scrub, scrub_value, secrets_in

HEX = "0123456789abcdef"
MIXED = "aB3dE5gH1jK2mN4pQ6rS7tU8vW9xY0zA"

# Each is put together here, so that no scanner takes this file for a leak.
TOKENS = [
    *("sk_" + "live_" + "FAKE" * 6, "rk_" + "test_" + "FAKE" * 6, "whsec_" + MIXED),
    *("sk-" + "proj-" + MIXED, "sk-" + "ant-api03-" + MIXED, "sk-" + MIXED * 2, "hf_" + MIXED + "abcd", "gsk_" + MIXED * 2),
    *("AIza" + MIXED + "abc", "ya29." + MIXED, "GOCSPX-" + MIXED, "1//0" + MIXED + "abcd"),
    *("AKIA" + "FAKE" * 4, "ASIA" + "FAKE" * 4, "LTAI" + "Fake" * 5),
    *("dapi" + HEX * 2, "dose" + HEX * 2, "dapi" + HEX * 2 + "-3"),
    *("ghp_" + MIXED, "gho_" + MIXED, "github_" + "pat_" + MIXED, "glpat-" + MIXED, "glrt-" + MIXED, "ATATT3" + MIXED, "ATBB" + MIXED),
    *("xox" + "b-" + MIXED, "xox" + "e.xoxp-" + MIXED, "xapp-1-" + MIXED, "12345678:AA" + MIXED + "z"),
    *("npm_" + MIXED + "abcd", "pypi-" + MIXED * 2, "dckr_" + "pat_" + MIXED, "SG." + MIXED[:22] + "." + MIXED + "abcdefghijk"),
    *(HEX * 2 + "-us12", "do" + "p_v1_" + HEX * 4, "shp" + "at_" + HEX * 2, "hvs." + MIXED, MIXED[:14] + ".atlasv1." + MIXED * 2),
    *("dbtc_" + MIXED, "pnu_" + MIXED, "pscale_" + "pw_" + MIXED, "npg_" + MIXED, "sbp_" + HEX * 2 + HEX[:8], "lin_" + "api_" + MIXED),
    *("glsa_" + MIXED, "NRAK-" + "FAKE" * 6 + "FAK", "dp.pt." + MIXED, "abc8Q~" + MIXED, "AGE-SECRET-KEY-1" + "FAKE" * 14 + "FA"),
    "eyJ" + MIXED + "." + MIXED + "." + MIXED,
]


@pytest.mark.parametrize("token", TOKENS, ids=lambda token: token[:10])
@pytest.mark.parametrize("around", ["{}", "login with {} failed", "x={}&y", "'{}'", "{}.", "/{}/", "q%3D{}"])
def test_a_well_known_token_is_found_wherever_it_stands(token: str, around: str) -> None:
    for rules in (CONFIGURATION, RECORD, SHAPES):
        scrubbed = scrub(around.format(token), rules=rules)
        assert token not in scrubbed
        assert scrubbed.startswith(around.partition("{}")[0] + "***")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://hooks.slack.com/services/T00/B00/hunter2", "https://hooks.slack.com/services/***"),
        ("https://hooks.slack.com/workflows/T00/A00/hunter2", "https://hooks.slack.com/workflows/***"),
        ("https://discord.com/api/webhooks/123/hunter2", "https://discord.com/api/webhooks/123/***"),
        ("https://x.webhook.office.com/webhookb2/hunter2@y/z", "https://x.webhook.office.com/webhookb2/***"),
        ("https://api.telegram.org/bot12:hunter2/send", "https://api.telegram.org/bot***"),
        ("https://f.azurewebsites.net/api/load?x=1&code=hunter2", "https://f.azurewebsites.net/api/load?x=1&code=***"),
        ("https://a.blob.core.windows.net/c?sv=2020&sig=hunter2%2F", "https://a.blob.core.windows.net/c?sv=2020&sig=***"),
        ("https://h/?access_token=hunter2&x=1", "https://h/?access_token=***&x=1"),
        ("jdbc:mysql://db/shop?user=ann&password=hunter2", "jdbc:mysql://db/shop?user=ann&password=***"),
        ("AccountName=x;AccountKey=" + MIXED * 2 + "==;Suffix=y", "AccountName=x;AccountKey=***;Suffix=y"),
        ("postgresql://ann:hunter2@db/shop", "postgresql://ann:***@db/shop"),
        ("sc://host:15002/;token=hunter2;x-api-key=hunter2", "sc://host:15002/;token=***;x-api-key=***"),
        ("sc://h:443/;use_ssl=true;x-own=hunter2;user_id=ann", "sc://h:443/;use_ssl=true;x-own=***;user_id=ann"),
        ("used bearer hunter2hunter2hunter2", "used bearer ***"),
    ],
)
def test_a_shape_is_a_secret_also_in_business_data(text: str, expected: str) -> None:
    for rules in (RECORD, SHAPES):
        assert scrub(text, rules=rules) == expected
    assert scrub(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("CREATE USER etl IDENTIFIED BY 'hunter2'", 'create user etl identified by "hunter2"', "CREATE USER etl IDENTIFIED BY hunter2;"),
        *("CREATE USER 'e'@'%' IDENTIFIED WITH mysql_native_password BY 'hunter2'", "alter user a identified by values 'hunter2'"),
        *("ALTER ROLE etl WITH PASSWORD 'hunter2'", "CREATE ROLE a LOGIN PASSWORD 'hunter2';", "ALTER ROLE e ENCRYPTED PASSWORD 'hunter2'"),
        *(
            "CREATE LOGIN sa WITH PASSWORD N'hunter2'",
            "SET PASSWORD FOR 'e'@'h' = PASSWORD('hunter2')",
            "CONNECT TO db USER a USING hunter2",
        ),
        *('OPTIONS (password "hunter2")', "OPTIONS (user 'a', password 'hunter2')", 'USING jdbc OPTIONS (url "x", dbPassword "hunter2")'),
        *("OPTIONS ('password' 'hunter2')", "OPTIONS (`url` 'x', `password` 'hunter2')", 'OPTIONS ( "dbPassword" "hunter2" , "x" "y")'),
        *("ALTER USER e IDENTIFIED BY hunter2 REPLACE hunter2", 'alter user e identified by "hunter2" replace "hunter2old"'),
        *("CREATE SECRET s (TYPE s3, KEY_ID 'x', SECRET 'hunter2')", "COPY t ACCESS_KEY_ID 'A' SECRET_ACCESS_KEY 'hunter2'"),
        *("CREDENTIALS 'aws_access_key_id=A;aws_secret_access_key=hunter2'", "CREDENTIALS=(AWS_KEY_ID='a' AWS_SECRET_KEY='hunter2')"),
        *("Key (api_key)=(hunter2) already exists.", "Key (tenant, password)=(1, hunter2) already exists."),
    ],
)
def test_no_statement_lets_a_password_out(text: str) -> None:
    assert "hunter2" not in scrub(text)
    assert "hunter2" not in scrub(text, rules=RECORD)


@pytest.mark.parametrize(
    "text",
    [
        *("mysql -phunter2 -u root", "mysqldump -h h -u root -phunter2 db", "sshpass -p hunter2 ssh h", "docker login -u a -p hunter2 reg"),
        *("redis-cli -h h -a hunter2", "sqlcmd -S h -U sa -P hunter2", "sqlplus scott/hunter2@orcl", "http --auth a:hunter2 h"),
        *("-password hunter2", "--db-pass hunter2", "--api-key 'hunter2'", "-Djavax.net.ssl.keyStorePassword=hunter2"),
        *("machine h login ann password hunterone", "openssl -passin pass:hunter2", "export AWS_SECRET_ACCESS_KEY=hunter2"),
        *("aws configure set aws_secret_access_key hunter2", "aws --profile dev configure set profile.dev.aws_session_token 'hunter2'"),
    ],
)
def test_no_command_line_lets_a_password_out(text: str) -> None:
    assert "hunter" not in scrub(text)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "the password is hunter2",
            "the password was 'hunter2'",
            "password hunter2 was rejected",
            "password is: hunter2",
            "api key hunter2",
        ),
        *("connection.password hunter2", "spark.hadoop.fs.s3a.secret.key   hunter2\nspark.x 3", "Map(user -> a, password -> hunter2)"),
        *("userPassword:: hunter2", "password=&quot;hunter2&quot;", r"\u0022password\u0022:\u0022hunter2\u0022"),
        *("%7B%22password%22%3A%22hunter2%22%7D", "Pwd=my hunter2 word;Server=h", "password='hunter2 and cut off", "password=b'hunter2'"),
        *('setPassword("hunter2")', ").password('hunter2')", "Settings(password=SecretStr('hunter2'))", '.option("password", "hunter2")'),
        *("ldap bind pw=hunter2", "bindpw: hunter2", "auth=hunter2", "JSESSIONID=hunter2", "X-Functions-Key: hunter2"),
        *("SharedAccessKeyName=root;SharedAccessKey=hunter2", "fs.azure.account.key.shop.dfs.core.windows.net=hunter2"),
        *("Ocp-Apim-Subscription-Key: hunter2", 'PlainLoginModule required username="a" password="hunter2";'),
        *("jdbc:databricks://h:443;AuthMech=3;UID=token;PWD=hunter2", "jdbc:databricks://h;Auth_AccessToken=hunter2"),
    ],
)
def test_no_message_lets_a_password_out(text: str) -> None:
    assert "hunter2" not in scrub(text)


def test_a_block_of_yaml_is_one_value() -> None:
    text = """
db:
    password: |
      hunter2

        hunter2 goes on
    token: >-  # folded
      hunter2
    old_password: |
    user: ann
secret: |2-
  hunter2
name: shop"""
    for rules in (CONFIGURATION, RECORD):
        assert (
            scrub(text, rules=rules)
            == """
db:
    password: |
      ***
    token: >-  # folded
      ***
    old_password: ***
    user: ann
secret: |2-
  ***
name: shop"""
        )


INNOCENT = """
the password is wrong
FATAL: password authentication failed for user "ann" (SQLSTATE 28P01)
The password must have at least 8 characters
password sha256 hashing, password scram-sha-256 authentication
CREATE TABLE users (id int, password varchar(50), token char(32) not null, api_key text)
 |-- password: string (nullable = true)
StructType([StructField('password', StringType(), True), StructField('token', LongType(), True)])
{"name": "password", "type": "string"}
select password, token from users where id = 5
columns are ['id', 'password', 'email']
account_key=1042, storage_key=42, shared_key = 12.5, account_key: 2026-01-02, authorization=true
Key (account_key)=(1042) is not present in table "accounts".
duplicate key value violates unique constraint "users_api_key_key"
Column 'password' cannot be resolved
expected one of ('id' 'password', 'token'), options ('password' string, 'header' 'true')
where name in ('a', 'password' 'b' or
aws configure set region eu-central-1
syntax error, unexpected token ')' , expected ident
Secret 'db-creds' not found in scope 'prod'
Secret does not exist with scope: prod and key: db
keys = ["account_key"], merge keys = account_key
key.converter=io.confluent.connect.avro.AvroConverter
the boarding pass: gate, pass rate: 0.97, first pass: merge, pass: 12, fail: 3
auth=basic, auth: failed for user ann, auth=SCRAM-SHA-256, sasl.mechanism=PLAIN
session_id=0199c3f2-1234-7abc-8def-0123456789ab
s3://bucket/orders/account_key=1042/part-00000-0199c3f2-1234-7abc-8def-0123456789ab.c000.snappy.parquet
s3://bucket/words/token=the/part-00000.parquet
abfss://container@account.dfs.core.windows.net/path
https://example.com/a?b=c&page_token=abc&key=5
git@github.com:org/repo.git
kafka://b1:9092,b2:9092/topic
550e8400-e29b-41d4-a716-446655440000 9e107d9d372bb6826bd81d3542a419d6
sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
arn:aws:iam::123456789012:role/etl
projects/p/secrets/db-password/versions/3
task-1234567890abcdefghij sk-learn-contrib-something-very-long disk-0123456789abcdef
docker run -u 1000:1000 -p 8080:80 image
mysql -h host -P 3306 -u root -p
use --token-file tokens.txt --password-file /run/secrets/pw
File "/app/auth/token.py", line 12, in get_token
/app/auth/password.py:12 in check_password
password=None, password = null
user 'ann' identified by peer, identified by its name
join user u using (id)
KeyError: 'password'
environment variable DB_PASSWORD is not set
spark.hadoop.fs.s3a.access.key must be set
def connect(user: str, password: str | None = None, token: str = '') -> None
password=${env:DB_PASSWORD} or options (password '${env:PW}')
""".strip().splitlines()


@pytest.mark.parametrize("text", INNOCENT)
@pytest.mark.parametrize("rules", [CONFIGURATION, RECORD, SHAPES], ids=["configuration", "record", "shapes"])
def test_what_only_resembles_a_secret_stays(text: str, rules: Rules) -> None:
    assert scrub(text, rules=rules) == text


def test_names_alone_hide_nothing_where_only_shapes_count() -> None:
    record = {"password": "hunter2", "note": "password=hunter2", "url": "https://ann:hunter2@h", "key": "AKIA" + "FAKE" * 4}
    assert scrub_value(record, rules=SHAPES) == {**record, "url": "https://ann:***@h", "key": "***"}


UNITS = [
    "password" + " " * 500,
    "01234567-89ab-cdef-0123-456789abcdef-",
    *("a-", "-eyJabcdefgh", "eyJaaaaaaaaaa.", "password", "password=", "password={", "password: ", '"password":{', "password=\\'"),
    *("://", "a://", "a://b:", "a://b:'", "://a:b@c ", "sc://h;a=b;", "'", '"', "\\", "'\"", 'password="', "password 'x", "password="),
    *("<a>", "<password>", "<", "a=", "a:", " a:b", " -u a", "--password ", " ", "password is ", "password.a b\n", "(password)=(x "),
    *("-----BEGIN PRIVATE KEY", "-----BEGIN PRIVATE KEY-----", "jdbc:oracle:thin:", "%3D", "%22password%22:%22", "a:b@tcp"),
    *("create user identified by ", "mysql ", "sshpass ", "docker login ", "connect to a user b using", "login a password "),
    *(
        "hooks.slack.com/services/",
        "azurewebsites.net/?a&",
        "?sig=",
        "sk-proj-",
        "AKIA",
        "SG.aaaaaaaaaaaaaaaaaaaa.",
        "authorization: digest ",
    ),
    *("Q~://cookie: ", "a=/token=", "token.-a", "/cookie: ", "auth='basic ", "token 'x "),
    *("password: |\n a\n", "password: |\n", "password: |\n ", "token: >\n  \n", "('password' ", "('password' 'x' ", "aws configure set "),
    *("create user identified by a replace ", "aws ", " a\n", "password: |\n a\n\n"),
    *("aaaaaaaaaaaaaa.atlasv1.", "password=a b;", '("password",', "\\u0022password\\u0022:\\u0022", "basic aaaaaaaaaaaaaaaaaa"),
]


def _seconds(text: str) -> float:
    started = time.process_time()
    scrub(text, ["hunter2hunter2"])
    secrets_in(text)
    return time.process_time() - started


@pytest.mark.parametrize("unit", UNITS, ids=repr)
def test_eight_times_the_text_takes_about_eight_times_as_long(unit: str) -> None:
    """Quadratic work would take sixty-four times as long, however often it is tried."""
    short, long = (unit * (size // len(unit)) for size in (4_000, 32_000))
    most = 30 * max(0.0005, min(_seconds(short) for _ in range(3)))
    assert any(_seconds(long) < most for _ in range(3))


def test_a_megabyte_of_everything_is_scrubbed() -> None:
    mixed = random.Random(7)
    text = "".join(itertools.islice((mixed.choice(UNITS) * mixed.randint(1, 9) for _ in itertools.count()), 24_000))
    assert len(text) > 1_000_000
    assert scrub(text + " ghp_" + MIXED).endswith("***")
