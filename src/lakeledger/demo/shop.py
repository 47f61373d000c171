"""The demo's shop as pure functions: a date in, that day's rows out, the same on every machine and at every time."""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from itertools import accumulate
from typing import TypeVar

from lakeledger.demo.catalogue import CHANNELS, FIRST_NAMES, LAST_NAMES, PLACES, PRODUCTS, Product

FIRST_DAY = date(2026, 6, 1)

CUSTOMERS_AT_FIRST = 600
ORDERS_A_DAY = 320
# From Monday to Sunday: people order at the weekend, and on Monday what they forgot.
WEEKDAY_PERCENT = (105, 90, 85, 90, 105, 135, 125)
GROWTH_PER_MILLE_A_DAY = 4
# On that day the site was down from morning to evening.
OUTAGE, OUTAGE_PERCENT = FIRST_DAY + timedelta(days=29), 40
CANCELLED_PERCENT = 3
DISCOUNTS = ((0, 84), (10, 10), (20, 5), (50, 1))

SHELF = [*accumulate(product.weight for product in PRODUCTS)]

Picked = TypeVar("Picked")


@dataclass(frozen=True)
class Customer:
    """Somebody with an account. Their e-mail address is kept as they typed it."""

    customer_id: int
    name: str
    email: str
    city: str
    country: str
    signed_up_on: date


@dataclass(frozen=True)
class Order:
    """One order, as the shop's system exports it at the end of the day."""

    order_id: int
    customer_id: int
    ordered_at: datetime
    order_date: date
    channel: str
    status: str

    @property
    def is_sale(self) -> bool:
        return self.status != "cancelled"


@dataclass(frozen=True)
class OrderLine:
    """One product of an order."""

    order_id: int
    line_number: int
    order_date: date
    sku: str
    product: str
    category: str
    quantity: int
    unit_cents: int
    discount_percent: int

    @property
    def cents(self) -> int:
        """What the line costs, rounded half up as SQL does."""
        return (self.quantity * self.unit_cents * (100 - self.discount_percent) + 50) // 100


@dataclass(frozen=True)
class Day:
    """What one day adds."""

    date: date
    orders: list[Order]
    lines: list[OrderLine]


def dates(days: int) -> list[date]:
    """The first so many days of the shop."""
    return [FIRST_DAY + timedelta(days=number) for number in range(days)]


def customers(day: date) -> list[Customer]:
    """Everybody who has an account at the end of that day."""
    return [_customer(number) for number in range(1, _customer_count(day) + 1)]


def sales_day(day: date) -> Day:
    """The orders of one day and their lines."""
    dice = random.Random(f"orders of {day}")  # noqa: S311 - a demo, not a secret
    growth = 1000 + GROWTH_PER_MILLE_A_DAY * (day - FIRST_DAY).days
    count = ORDERS_A_DAY * WEEKDAY_PERCENT[day.weekday()] * growth * dice.randrange(93, 108) // (100 * 1000 * 100)
    count = count * OUTAGE_PERCENT // 100 if day == OUTAGE else count
    times = sorted(_time_of_day(dice) for _ in range(count))
    orders = [_order(dice, day, index, at) for index, at in enumerate(times, start=1)]
    return Day(day, orders, [line for order in orders for line in _lines(dice, order)])


def _order(dice: random.Random, day: date, index: int, at: time) -> Order:
    known = _customer_count(day)
    # Of two customers the older one orders: so some order often, and many now and then.
    customer_id = 1 + min(dice.randrange(known), dice.randrange(known))
    status = "cancelled" if dice.randrange(100) < CANCELLED_PERCENT else "paid"
    order_id = int(f"{day:%y%m%d}") * 10_000 + index
    return Order(order_id, customer_id, datetime.combine(day, at, UTC), day, _pick(dice, CHANNELS), status)


def _lines(dice: random.Random, order: Order) -> list[OrderLine]:
    count = dice.choices((1, 2, 3, 4, 5), (38, 28, 18, 10, 6))[0]
    basket: list[Product] = []
    while len(basket) < count:
        product = dice.choices(PRODUCTS, cum_weights=SHELF)[0]
        if product not in basket:
            basket.append(product)
    return [_line(dice, order, number, product) for number, product in enumerate(basket, start=1)]


def _line(dice: random.Random, order: Order, number: int, product: Product) -> OrderLine:
    quantity = dice.choices((1, 2, 3), (80, 15, 5))[0]
    discount = _pick(dice, DISCOUNTS)
    return OrderLine(
        order.order_id, number, order.order_date, product.sku, product.name, product.category, quantity, product.cents, discount
    )


@cache
def _customer(number: int) -> Customer:
    dice = random.Random(f"customer {number}")  # noqa: S311 - a demo, not a secret
    first, last = dice.choice(FIRST_NAMES), dice.choice(LAST_NAMES)
    city, country, _ = dice.choices(PLACES, [weight for _, _, weight in PLACES])[0]
    email = f"{_ascii(first)}.{_ascii(last)}{number}@example.com"
    typed = email if dice.randrange(5) == 0 else email.lower()
    return Customer(number, f"{first} {last}", typed, city, country, _signed_up_on(number, dice))


def _ascii(name: str) -> str:
    return unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().replace(" ", "")


def _signed_up_on(number: int, dice: random.Random) -> date:
    if number <= CUSTOMERS_AT_FIRST:
        return FIRST_DAY - timedelta(days=dice.randrange(1, 700))
    day = FIRST_DAY
    while _customer_count(day) < number:
        day += timedelta(days=1)
    return day


@cache
def _customer_count(day: date) -> int:
    if day < FIRST_DAY:
        return CUSTOMERS_AT_FIRST
    new = random.Random(f"new customers of {day}").randrange(4, 15)  # noqa: S311 - a demo, not a secret
    return _customer_count(day - timedelta(days=1)) + new


def _time_of_day(dice: random.Random) -> time:
    # Busy around noon and once more in the evening.
    begin, hours = dice.choice(((7, 11), (16, 8)))
    second = sum(dice.randrange(hours * 3600) for _ in range(3)) // 3
    return time(begin + second // 3600, second // 60 % 60, second % 60)


def _pick(dice: random.Random, weighted: Sequence[tuple[Picked, int]]) -> Picked:
    return dice.choices([value for value, _ in weighted], [weight for _, weight in weighted])[0]
