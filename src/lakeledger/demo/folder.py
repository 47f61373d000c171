"""The demo's folder: its settings, its declared pipeline and its queries, written once and never over anything else."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

from lakeledger import config
from lakeledger.demo.landing import write_whole
from lakeledger.errors import Invalid

YAML = "shop.yaml"
# The settings come first: by them the folder is known as the demo's.
TEMPLATES = (config.FILE_NAME, YAML, "sql/sales.sql", "sql/top_products.sql")


def prepare(folder: Path, warehouse: str | None = None) -> None:
    """Write what is not there yet, with that warehouse. Raises Invalid if the folder holds something else or cannot be written."""
    _refuse_foreign(folder)
    try:
        for name in TEMPLATES:
            if not (folder / name).exists():
                text = _template(name)
                write_whole(folder / name, _placed(text, warehouse) if warehouse and name == config.FILE_NAME else text)
    except OSError as error:
        raise Invalid(f"cannot write to {folder}: {error.strerror}; choose another --folder") from error


def _placed(settings: str, warehouse: str) -> str:
    """The settings with another warehouse. Raises Invalid for one that no ledger can have."""
    place = config.Settings(warehouse=warehouse).warehouse_uri
    return settings.replace('warehouse = "warehouse"', f"warehouse = {json.dumps(place, ensure_ascii=False)}", 1)


def _refuse_foreign(folder: Path) -> None:
    settings = folder / config.FILE_NAME
    try:
        if folder.exists() and not folder.is_dir():
            raise Invalid(f"{folder} is a file: choose another --folder")
        if settings.exists() and not settings.read_text(encoding="utf-8", errors="replace").startswith(_mark()):
            raise Invalid(f"{settings} is not the demo's: choose another --folder, the demo makes it")
        if not settings.exists() and folder.exists() and any(not path.name.startswith(".") for path in folder.iterdir()):
            raise Invalid(f"{folder} holds other files: choose another --folder, the demo makes it")
    except OSError as error:
        raise Invalid(f"cannot look into {folder}: {error.strerror}; choose another --folder") from error


def _mark() -> str:
    return _template(config.FILE_NAME).partition(".")[0]


def _template(name: str) -> str:
    return files("lakeledger.demo").joinpath("templates", *name.split("/")).read_text(encoding="utf-8")
