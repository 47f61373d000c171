"""References to the environment: two spellings of one thing, resolved where they are used, and known as secrets."""

from __future__ import annotations

import pytest

from lakeledger.errors import Invalid
from lakeledger.pipelines import references


@pytest.mark.parametrize("written", ["${env:SHOP_KEY}", "{{env.SHOP_KEY}}", "{{ env.SHOP_KEY }}"])
def test_a_variable_may_be_named_in_either_way(monkeypatch: pytest.MonkeyPatch, written: str) -> None:
    monkeypatch.setenv("SHOP_KEY", "opensesame")
    assert references.replace({"key": [f"a {written} b"]}, {}) == {"key": ["a opensesame b"]}
    assert references.secrets_in(f"x {written}") == ["opensesame"]
    monkeypatch.delenv("SHOP_KEY")
    assert references.secrets_in(written) == []
    with pytest.raises(Invalid, match="leads nowhere: set the variable SHOP_KEY where the task runs"):
        references.replace(written, {})


def test_what_is_no_reference_is_left_alone() -> None:
    assert references.replace("${HOME} $env:X ${env:} {env.X}", {}) == "${HOME} $env:X ${env:} {env.X}"
