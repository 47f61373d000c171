"""The shop's customer database as a stream of change events: what Debezium would send, with all that goes wrong on the way.

Events come late, twice, damaged, and of customers who were deleted; the same on every machine and at every time.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from typing import Any

from lakeledger.demo import shop
from lakeledger.demo.catalogue import PLACES

MOVES_A_DAY = 8
# An event that a partition of the stream holds back is delivered so many days later: within a load, and after the next one.
SHORT_DELAY, LONG_DELAY = timedelta(days=1), timedelta(days=8)
# A day's events have the log sequence numbers from its number times this.
LSNS_A_DAY = 100_000
READ, CREATE, UPDATE, DELETE = "r", "c", "u", "d"
TOMBSTONE = "null"


@dataclass(frozen=True)
class Account:
    """A customer as the customer database has them."""

    customer_id: int
    name: str
    city: str
    updated_at: datetime


@dataclass(frozen=True)
class Event:
    """One change of one account, with its place in the database's log and the day on which its file gets it."""

    lsn: int
    op: str
    account: Account
    delivered_on: date

    @property
    def text(self) -> str:
        row = {**vars(self.account), "updated_at": self.account.updated_at.isoformat()}
        before, after = (row, None) if self.op == DELETE else (None, row)
        source = {"connector": "postgresql", "schema": "crm", "table": "customers", "lsn": self.lsn}
        return json.dumps({"op": self.op, "before": before, "after": after, "source": source}, ensure_ascii=False)


@dataclass(frozen=True)
class Delivery:
    """What a day's file has: events in the order in which they come, and lines that nobody can read."""

    events: list[Event]
    bad: list[str]

    @property
    def text(self) -> str:
        # Debezium sends a tombstone after each delete, for Kafka.
        lines = [line for event in self.events for line in (event.text, *([TOMBSTONE] if event.op == DELETE else []))]
        return "".join(f"{line}\n" for line in [*lines, *self.bad])


@dataclass
class Tally:
    """What became of the events, counted one by one in the order in which they came."""

    events: int = 0
    in_order: int = 0
    late: int = 0
    duplicates: int = 0
    deletes: int = 0
    bad: int = 0
    history: dict[int, dict[int, Event]] = field(default_factory=dict)  # of each customer, by LSN

    def take(self, event: Event) -> None:
        """Count one more event."""
        known = self.history.setdefault(event.account.customer_id, {})
        self.events += 1
        if event.lsn in known:
            self.duplicates += 1
        elif known and event.lsn < max(known):
            self.late += 1
        elif event.op == DELETE:
            self.deletes += 1
        else:
            self.in_order += 1
        known[event.lsn] = event

    @property
    def customers(self) -> dict[int, str]:
        """The city of everybody who is left."""
        last = {number: events[max(events)] for number, events in self.history.items()}
        return {number: event.account.city for number, event in last.items() if event.op != DELETE}

    @property
    def versions(self) -> set[tuple[int, str, int, int | None]]:
        """Every version of every customer: where they lived, from which LSN, and until which."""
        found = set()
        for number, events in self.history.items():
            lsns = sorted(events)
            for lsn, until in zip(lsns, [*lsns[1:], None], strict=True):
                if events[lsn].op != DELETE:
                    found.add((number, events[lsn].account.city, lsn, until))
        return found

    @property
    def figures(self) -> dict[str, int]:
        """The counts alone."""
        return {name: getattr(self, name) for name in ("events", "in_order", "late", "duplicates", "deletes", "bad")}


def tally(days: Iterable[date]) -> Tally:
    """What became of the events of these days."""
    counted = Tally()
    for delivery in map(deliver, days):
        for event in delivery.events:
            counted.take(event)
        counted.bad += len(delivery.bad)
    return counted


def deliver(day: date) -> Delivery:
    """The day's file: what was held back, what is sent again because the connector was restarted, and what is new."""
    held_back = [
        event
        for delay in (LONG_DELAY, SHORT_DELAY)
        if day - delay >= shop.FIRST_DAY
        for event in _changes(day - delay).events
        if event.delivered_on == day
    ]
    again: list[Event] = []
    if day > shop.FIRST_DAY:
        yesterday = [event for event in _changes(day - timedelta(days=1)).events if event.delivered_on == event.account.updated_at.date()]
        again = yesterday[-_dice("again", day).randrange(1, 4) :]
    new = [event for event in _changes(day).events if event.delivered_on == day]
    return Delivery([*held_back, *again, *new], _bad_lines(day))


@dataclass(frozen=True)
class _Changes:
    """What happened to accounts on a day, and what they are at its end."""

    events: list[Event]
    accounts: Mapping[int, Account]


@cache
def _changes(day: date) -> _Changes:
    dice, made = _dice("accounts", day), _Log(day)
    if day == shop.FIRST_DAY:
        for customer in shop.customers(day - timedelta(days=1)):
            since = datetime.combine(customer.signed_up_on, time(12), UTC)
            made.add(READ, Account(customer.customer_id, customer.name, customer.city, since))
        accounts: dict[int, Account] = dict(made.accounts)
    else:
        accounts = dict(_changes(day - timedelta(days=1)).accounts)
    *movers, twice, leaver = dice.sample(sorted(accounts), MOVES_A_DAY + 1)
    for customer in shop.customers(day):
        if customer.signed_up_on == day:
            made.add(CREATE, Account(customer.customer_id, customer.name, customer.city, made.now()))
    for number in (*movers, twice):
        made.add(UPDATE, _moved(accounts[number], dice, made.now()), SHORT_DELAY if number == twice else None)
    made.add(UPDATE, _moved(made.accounts[twice], dice, made.now()))
    made.add(UPDATE, _moved(accounts[leaver], dice, made.now()), LONG_DELAY)
    made.add(DELETE, made.accounts[leaver])
    accounts |= made.accounts
    del accounts[leaver]
    return _Changes(made.events, accounts)


class _Log:
    """The database's log of a day."""

    def __init__(self, day: date) -> None:
        self._day = day
        self.events: list[Event] = []
        self.accounts: dict[int, Account] = {}

    def now(self) -> datetime:
        """A time of the day that is later than those before."""
        return datetime.combine(self._day, time(8), UTC) + timedelta(minutes=len(self.events) % 840)

    def add(self, op: str, account: Account, delay: timedelta | None = None) -> None:
        lsn = ((self._day - shop.FIRST_DAY).days + 1) * LSNS_A_DAY + len(self.events)
        self.events.append(Event(lsn, op, account, self._day + (delay or timedelta(0))))
        self.accounts[account.customer_id] = account


def _moved(account: Account, dice: random.Random, at: datetime) -> Account:
    city = dice.choice([city for city, _, _ in PLACES if city != account.city])
    return Account(account.customer_id, account.name, city, at)


def _bad_lines(day: date) -> list[str]:
    """Every third day one line that is cut off, of the wrong type, or without a key."""
    number = (day - shop.FIRST_DAY).days
    if number % 3 != 1:
        return []
    account = Account(number, "Nobody", "Nowhere", datetime.combine(day, time(23), UTC))
    event = Event((number + 2) * LSNS_A_DAY - 1, UPDATE, account, day)
    text: dict[str, Any] = json.loads(event.text)
    match number // 3 % 3:
        case 0:
            return [event.text[: len(event.text) // 2]]
        case 1:
            text["after"]["customer_id"] = "seventeen"
        case _:
            text["after"]["customer_id"] = None
    return [json.dumps(text)]


def _dice(what: str, day: date) -> random.Random:
    return random.Random(f"{what} of {day}")  # noqa: S311 - a demo, not a secret
