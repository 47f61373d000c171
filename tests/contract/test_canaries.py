"""Canary credentials are put wherever a failure can carry one, and must not be found anywhere in the database afterwards."""

from __future__ import annotations

import itertools
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import lakeledger
from contract.making import dump
from lakeledger import Ledger
from lakeledger.config import CaptureSettings, Settings
from lakeledger.sync.dead_letters import DeadLetter, NewLetter
from lakeledger.sync.errors import NewError

_NUMBERS = itertools.count(1)


class Canaries:
    """Makes secrets that occur nowhere else, and remembers them."""

    def __init__(self) -> None:
        self.made: list[str] = []

    def secret(self) -> str:
        self.made.append(f"canary{next(_NUMBERS):04d}Zq7")
        return self.made[-1]

    def record(self) -> dict[str, Any]:
        """A record with secrets under secret names, in URLs, in texts, in masked columns, in keys and deep inside."""
        by_value, email = self.secret(), self.secret()
        return {
            "id": len(self.made),
            "password": by_value,
            "note": f"the customer typed {by_value} and wrote from {email}",
            "source": f"mongodb://ann:{self.secret()}@db/shop?authSource=admin",
            "headers": [{"Authorization": f"Bearer {self.secret()}"}, {"X-Api-Key": self.secret()}],
            "dsn": f"host=db user=ann password={self.secret()} sslmode=require",
            "email": email,
            "profile": {"Email": self.secret(), "card": {"number": self.secret(), "cvc": self.secret()}},
            f"seen {by_value}": True,
            "credentials": {"user": self.secret(), "list": [self.secret()]},
        }

    def text(self) -> str:
        return (
            f"cannot reach postgresql://ann:{self.secret()}@db:5432/shop (password={self.secret()}, 'api_key': '{self.secret()}')\n"
            f"Authorization: Bearer {self.secret()}"
        )


@pytest.fixture
def guarded(url: str, tmp_path: Path) -> Iterator[Ledger]:
    """A ledger that masks e-mail addresses and cards."""
    settings = Settings(url=url, warehouse=str(tmp_path / "warehouse"), capture=CaptureSettings(mask=("email", "card.*")))
    with lakeledger.open(settings) as ledger:
        yield ledger


def everything(ledger: Ledger) -> bytes:
    """Every row, and on SQLite every byte of the files as well."""
    found = json.dumps(dump(ledger), ensure_ascii=False).encode()
    if ledger.database.dialect != "sqlite":
        return found
    path = Path(ledger.settings.database_url.removeprefix("sqlite:///"))
    found += b"".join(file.read_bytes() for file in sorted(path.parent.glob(f"{path.name}*")))
    with sqlite3.connect(path) as connection:
        connection.execute("pragma wal_checkpoint(truncate)")
    connection.close()
    return found + path.read_bytes()


def leaked(ledger: Ledger, canaries: Canaries) -> list[str]:
    kept = everything(ledger)
    assert b"kept for sure" in kept, "what is no secret must be found, or the search is no proof"
    return [secret for secret in canaries.made if secret.encode() in kept]


def test_no_credential_of_an_error_reaches_the_database(guarded: Ledger) -> None:
    canaries = Canaries()
    for kind, retries in (("validation", 0), ("connection", 1)):
        record = canaries.record()
        error = guarded.errors.log(
            NewError(
                "shop",
                "orders",
                kind,
                f"kept for sure: {canaries.text()} for {record['password']}, {record['email']}, {record['profile']['card']['number']}",
                error_code=f"E-{record['password']}",
                error_details={"dsn": canaries.text(), "token": canaries.secret(), "value": record["email"], "was": record},
                stack_trace=f"{canaries.text()}\nValueError: {record['headers'][1]['X-Api-Key']} {record['profile']['card']['cvc']}",
                record_data=record,
                source_record_id=f"shop-{record['password']}",
                max_retries=retries,
            )
        )
        guarded.errors.retried(error.id, ConnectionError(canaries.text()))
        guarded.errors.resolve(error.id, note=canaries.text(), by=f"postgresql://ann:{canaries.secret()}@db")
    assert len(guarded.dead_letters.list()) == 2
    assert leaked(guarded, canaries) == []


def test_no_credential_of_an_exception_reaches_the_database(guarded: Ledger) -> None:
    canaries = Canaries()
    record = canaries.record()

    def connect() -> None:
        password = canaries.secret()
        try:
            raise OSError(f"kept for sure: {canaries.text()}")
        except OSError as cause:
            raise ValueError(f"password={password} {record['email']}") from cause

    with pytest.raises(ValueError, match="password") as raised:
        connect()
    guarded.errors.log_exception("shop", "orders", raised.value, record_data=record, error_details={"secret_key": canaries.secret()})
    assert leaked(guarded, canaries) == []


def test_no_credential_of_a_dead_letter_reaches_the_database(guarded: Ledger) -> None:
    canaries = Canaries()
    for _ in range(2):
        record = canaries.record()
        message = f"kept for sure: {canaries.text()} {record['password']} {record['email']}"
        guarded.dead_letters.add(NewLetter("shop", "orders", "insert", record, source_record_id=record["password"], error_message=message))
    assert len(guarded.dead_letters.list()) == 2

    def callback(_: DeadLetter) -> None:
        raise ValueError(canaries.text())

    first = guarded.dead_letters.list()[0]
    guarded.dead_letters.failed_again(first.id, RuntimeError(canaries.text()))
    assert guarded.dead_letters.replay(callback, dry_run=False).failed == 2
    guarded.dead_letters.discard(first.id, by=f"redis://:{canaries.secret()}@cache", note=canaries.text())
    guarded.dead_letters.add(NewLetter("shop", "lines", "insert", {"id": 1}, error_message="kept for sure"))
    assert leaked(guarded, canaries) == []


def test_a_record_too_big_to_keep_gives_nothing_away(url: str, tmp_path: Path) -> None:
    canaries = Canaries()
    capture = CaptureSettings(mask=("email", "card.*"), record_bytes=256)
    with lakeledger.open(Settings(url=url, warehouse=str(tmp_path / "warehouse"), capture=capture)) as ledger:
        letter = ledger.dead_letters.add(NewLetter("shop", "orders", "insert", canaries.record(), error_message="kept for sure"))
        assert letter.record_data["_cut"] is True
        assert leaked(ledger, canaries) == []
