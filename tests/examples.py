"""How much is tried: little whenever the tests run, more where there is time (`make soak`, HYPOTHESIS_PROFILE=thorough)."""

from __future__ import annotations

import os
from typing import Any

from hypothesis import HealthCheck, settings

LONG = os.environ.get("LAKELEDGER_TESTS_LONG", "") not in {"", "false"}

# How long an example takes says nothing about whether it is right: the machine may be busy.
settings.register_profile("quick", max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("thorough", settings.get_profile("quick"), max_examples=1_000)


def load() -> None:
    """Choose the profile, as the environment says."""
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


def tried(share: float, **more: Any) -> settings:
    """As many examples as the profile says, times `share`: less than one for what is slow, more for what is quick and has many corners."""
    return settings(max_examples=max(1, round(settings().max_examples * share)), **more)


def rounds(few: int, many: int) -> int:
    """How often something is tried."""
    return many if LONG else few


def if_long(*cases: Any) -> tuple[Any, ...]:
    """Cases that add little to the others, and are tried where there is time."""
    return cases if LONG else ()
