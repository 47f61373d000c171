"""What the demo's tables must hold, counted in plain Python from the generator alone, and whether they do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lakeledger.demo import shop
from lakeledger.errors import Failed
from lakeledger.lake import Storage
from lakeledger.ledger import Ledger

# The tables without and with money in them, each with the column to count by.
RAW = {"bronze.customers": "customer_id", "bronze.orders": "order_id", "bronze.order_lines": "order_id"}
MONEY = {"silver.sales": "amount", "gold.daily_revenue": "revenue", "gold.top_products": "revenue"}


@dataclass(frozen=True)
class Figures:
    """The size of a table and, where it has money in it, how much."""

    rows: int
    cents: int | None = None

    def __str__(self) -> str:
        money = "" if self.cents is None else f" worth {self.cents / 100:,.2f}"
        return f"{self.rows:,} rows{money}"


def expected(days: int) -> dict[str, Figures]:
    """The figures of every table after so many days."""
    dates = shop.dates(days)
    sales = [shop.sales_day(day) for day in dates]
    paid = {order.order_id for day in sales for order in day.orders if order.is_sale}
    sold = [line for day in sales for line in day.lines if line.order_id in paid]
    revenue = sum(line.cents for line in sold)
    return {
        "bronze.customers": Figures(len(shop.customers(dates[-1]))),
        "bronze.orders": Figures(sum(len(day.orders) for day in sales)),
        "bronze.order_lines": Figures(sum(len(day.lines) for day in sales)),
        "silver.sales": Figures(len(sold), revenue),
        "gold.daily_revenue": Figures(len({line.order_date for line in sold}), revenue),
        "gold.top_products": Figures(len({line.sku for line in sold}), revenue),
    }


def found(ledger: Ledger) -> dict[str, Figures]:
    """The figures of every table, from the files of its current version."""
    return {name: _figures(ledger, name) for name in (*RAW, *MONEY) if ledger.tables.find(name)}


def check(ledger: Ledger, days: int) -> Figures:
    """What was sold. Raises Failed if a table does not hold what the shop made, or the ledger counts it differently."""
    wanted = expected(days)
    counted = {str(table.name): table.row_count for table in ledger.tables.list()}
    is_there = found(ledger)
    problems = [
        f"{name} has {is_there.get(name, 'nothing')} (the ledger counts {counted.get(name, 0):,}), but the shop made {figures}"
        for name, figures in wanted.items()
        if is_there.get(name) != figures or counted.get(name) != figures.rows
    ]
    if problems:
        raise Failed(f"the demo's tables are not what they should be: {'; '.join(problems)}; choose another --folder for a new shop")
    return wanted["silver.sales"]


def read_rows(ledger: Ledger, table: str, columns: list[str] | None = None) -> list[dict[str, Any]]:
    """A small table's rows. Ledger tables are plain Parquet files, so this needs no Spark."""
    from pyarrow.parquet import ParquetFile

    view = ledger.tables.view(table)
    storage = Storage(view.table.location, ledger.settings.s3)
    files = [ParquetFile(storage.inner(path), filesystem=storage.filesystem) for path in view.file_paths]
    return [row for file in files for row in file.read(columns).to_pylist()]


def _figures(ledger: Ledger, table: str) -> Figures:
    money = MONEY.get(table)
    rows = read_rows(ledger, table, [money or RAW[table]])
    return Figures(len(rows), int(sum(row[money] for row in rows) * 100) if money else None)
