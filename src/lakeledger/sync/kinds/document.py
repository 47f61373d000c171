"""Positions of sources that lakeledger knows nothing about."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from lakeledger.errors import Invalid
from lakeledger.sync.kinds.order import Document, Ordered, order_text


@dataclass(frozen=True)
class DocumentPosition(Ordered):
    """Anything else. `order` declares its place in an order; without one, nobody can tell back from forth."""

    kind: ClassVar[str] = "document"
    value: Document = field(hash=False)
    order: str = ""

    def __post_init__(self) -> None:
        if all(value is None for value in self.value.values()):
            raise Invalid(f"{dict(self.value)!r} is no position: it names no place; give a document such as {{'lsn': '0/16B3748'}}")

    @property
    def order_key(self) -> str:
        return self.order

    def document(self) -> dict[str, Any]:
        return dict(self.value)

    @classmethod
    def ordered_by(cls, value: Document, name: str) -> Self:
        """A document that is ordered by one of its fields. Raises Invalid if it has none of that name."""
        if value.get(name) is None:
            raise Invalid(f"the position {dict(value)!r} has no {name!r} to be ordered by: it has {', '.join(map(str, value))}")
        return cls(value, order_text(value[name]))
