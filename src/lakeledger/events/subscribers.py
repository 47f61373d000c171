"""Who subscribes: what is configured or given, made for each tenant, and checked before it is given anything."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from lakeledger.db.derived import WATCHED
from lakeledger.errors import Invalid
from lakeledger.events.model import COMPONENT_SUBSCRIPTIONS, Subscriber

# Makes the subscriber of one tenant from that tenant's ledger.
Factory = Callable[[Any], Subscriber[Any]]

_METHODS = ("on_event", "on_health", "on_refresh", "subscribed_tables")


def configured(places: Mapping[str, str], base: Path) -> dict[str, Factory]:
    """The factories that the settings name as `module:Class`, installed or in the settings' folder. Raises Invalid for one that is not."""
    if places and str(base) not in sys.path:
        sys.path.append(str(base))
    return {name: _find(name, place) for name, place in places.items()}


def _find(name: str, place: str) -> Factory:
    module, _, attribute = place.partition(":")
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise Invalid(f"subscriber {name}: {place} cannot be loaded ({error}); install it, or correct `subscribers.{name}`") from error
    if not callable(found):
        raise Invalid(f"subscriber {name}: {place} is no class: name one that takes the ledger of a tenant")
    return found  # type: ignore[no-any-return]  # what it makes is checked


def make(name: str, factory: Factory, ledger: object) -> Subscriber[Any]:
    """The subscriber of one tenant. Raises Invalid if it is none, or hears of what is no table of the registry."""
    made = factory(ledger)
    missing = [method for method in _METHODS if not callable(getattr(made, method, None))]
    if missing:
        raise Invalid(f"subscriber {name} has no {' and no '.join(missing)}: it needs {', '.join(_METHODS)}")
    check_tables(name, made.subscribed_tables())
    return made


def check_tables(name: str, tables: Sequence[str]) -> None:
    """Raise Invalid for what is not in the change log, and for a component that subscribes to something else than its own tables."""
    unknown = [table for table in tables if table not in WATCHED]
    if unknown or not tables or isinstance(tables, str):
        raise Invalid(f"subscriber {name} cannot subscribe to {unknown or tables!r}: choose from {', '.join(WATCHED)}")
    fixed = COMPONENT_SUBSCRIPTIONS.get(name)
    if fixed is not None and sorted(tables) != sorted(fixed):
        raise Invalid(f"component {name} subscribes to {', '.join(fixed)}, not to {', '.join(tables)}")
