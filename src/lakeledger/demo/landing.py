"""The daily exports of the shop: a file for each source, as its system would drop them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from dataclasses import astuple, fields
from datetime import date
from pathlib import Path
from typing import Any

from lakeledger.demo import crm, faults, shop
from lakeledger.demo.shop import Customer, Order

CUSTOMERS = "landing/customers.csv"


def daily_files(day: date) -> dict[str, str]:
    """The file that each incremental source gets on that day, relative to the folder."""
    return {"orders": f"landing/orders/{day}.csv", "order_lines": f"landing/order_lines/{day}.json"}


def event_file(day: date) -> str:
    """The file of change events that comes on that day, relative to the folder."""
    return f"landing/customer_events/{day}.jsonl"


def land(folder: Path, day: date) -> None:
    """Drop one day's files, faults and all. The customers' is replaced, for they come whole; a day's own, once there, is left alone."""
    orders, order_lines = (folder / name for name in daily_files(day).values())
    write_whole(folder / CUSTOMERS, _csv(Customer, shop.customers(day)))
    if not (folder / event_file(day)).exists():
        write_whole(folder / event_file(day), crm.deliver(day).text)
    if orders.exists() and order_lines.exists():
        return
    sales = shop.sales_day(day)
    _write_once(orders, _csv(Order, faults.exported(sales)))
    lines = [*(faults.line_of(line) for line in sales.lines), *faults.wrong_lines(sales)]
    _write_once(order_lines, "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines))


def is_right(folder: Path, day: date) -> bool:
    """Whether the file of that day's orders has each of them once."""
    return _orders_file(folder, day).read_text(encoding="utf-8") == _csv(Order, shop.sales_day(day).orders)


def correct(folder: Path, day: date) -> None:
    """Export that day's orders again, as they are."""
    write_whole(_orders_file(folder, day), _csv(Order, shop.sales_day(day).orders))


def _orders_file(folder: Path, day: date) -> Path:
    return folder / daily_files(day)["orders"]


def write_whole(path: Path, text: str) -> None:
    """Write a file so that nobody ever sees half of it, not after a kill either."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


def _write_once(path: Path, text: str) -> None:
    if not path.exists():
        write_whole(path, text)


def _csv(kind: type[Any], rows: Iterable[Any]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(field.name for field in fields(kind))
    writer.writerows(astuple(row) for row in rows)
    return text.getvalue()
