"""What commands are given as a file, or on stdin as `-`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from lakeledger.errors import Invalid


def read_text(file: str) -> str:
    """The file's text. Bytes that are none become half characters, which every parser refuses. Raises Invalid."""
    try:
        content = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except (OSError, ValueError) as error:
        raise Invalid(f"cannot read {called(file)}: {getattr(error, 'strerror', None) or error}") from error
    return content.decode("utf-8-sig", errors="surrogateescape")


def read_object(file: str) -> dict[str, Any]:
    """The JSON object in a file. Raises Invalid."""
    return parse_object(read_text(file), called(file))


def called(file: str) -> str:
    """The file in messages."""
    return "stdin" if file == "-" else file


def parse_object(text: str, what: str) -> dict[str, Any]:
    """The JSON object in a text. Raises Invalid."""
    from lakeledger.sync.exchange.text import load

    try:
        value = load(text)
    except json.JSONDecodeError as error:
        raise Invalid(f"{what} is no JSON: {error}") from error
    except UnicodeEncodeError as error:
        raise Invalid(f"{what} is not UTF-8 text") from error
    except ValueError as error:
        raise Invalid(f"{what} cannot be kept: {error}") from error
    if not isinstance(value, dict):
        raise Invalid(f"{what} must be a JSON object, not {type(value).__name__}")
    return value
