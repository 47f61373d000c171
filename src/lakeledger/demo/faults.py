"""What goes wrong in the shop's systems, and is to be caught: wrong lines on every day, and one day exported twice.

The same on every machine and at every time.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import asdict
from datetime import date, timedelta
from typing import Any

from lakeledger.demo import shop
from lakeledger.demo.shop import FIRST_DAY, Order, OrderLine

# The export of orders ran twice on that day: each of them is there two times, and the file is corrected once somebody has noticed.
EXPORTED_TWICE = FIRST_DAY + timedelta(days=3)
# Lines of the till that nobody ordered have numbers from here.
FIRST_WRONG_LINE = 90
MOST_WRONG_LINES = 3

Row = dict[str, Any]

# What the till gets wrong, also twice in one line.
WRONG: tuple[Row, ...] = ({"sku": None}, {"quantity": 0}, {"discount_percent": 150}, {"sku": None, "quantity": 0})


def line_of(line: OrderLine) -> Row:
    """A line as the shop exports it."""
    row = asdict(line) | {"order_date": str(line.order_date), "unit_price": line.unit_cents / 100}
    del row["unit_cents"]
    return row


def wrong_lines(day: shop.Day) -> list[Row]:
    """The lines that the till exports with that day's and that cannot be right."""
    dice = random.Random(f"wrong lines of {day.date}")  # noqa: S311 - a demo, not a secret
    chosen = dice.sample(day.lines, dice.randint(1, MOST_WRONG_LINES))
    made = [line_of(line) | dice.choice(WRONG) for line in chosen]
    return [row | {"line_number": FIRST_WRONG_LINE + number} for number, row in enumerate(made)]


def exported(day: shop.Day) -> Sequence[Order]:
    """The orders as they are in the first export of that day."""
    return [*day.orders, *day.orders] if day.date == EXPORTED_TWICE else day.orders


def count_wrong_lines(days: Sequence[date]) -> int:
    """How many wrong lines there are on these days."""
    return sum(len(wrong_lines(shop.sales_day(day))) for day in days)
