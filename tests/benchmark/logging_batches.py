"""MLflow's log_batch of so many metrics, in an environment that has it: python logging_batches.py NUMBER DATABASE"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ITS_PACKAGE = "mlflow==3.6.0"
# Kept, because making it takes longer than small measurements.
ITS_ENVIRONMENT = Path(tempfile.gettempdir()) / f"lakeledger-{ITS_PACKAGE.replace('==', '-')}-{os.getuid()}"
BATCH = 1_000  # as many as it takes


def its_environment() -> Path | None:
    """The Python that has MLflow; None if it cannot be installed."""
    python = ITS_ENVIRONMENT / "bin/python"
    if python.exists():
        return python
    uv = Path(sys.executable).with_name("uv")
    try:
        subprocess.run([uv, "venv", "--quiet", ITS_ENVIRONMENT], check=True)
        subprocess.run(
            [uv, "pip", "install", "--quiet", "--python", python, ITS_PACKAGE, "sqlalchemy<2.1"], check=True
        )  # it knows no later
    except (OSError, subprocess.CalledProcessError):
        return None
    return python


def per_second(number: int, folder: Path) -> float | None:
    """How many metrics a second MLflow logs into a SQLite database, in batches; None if it cannot be installed."""
    python = its_environment()
    if python is None:
        return None
    done = subprocess.run([python, __file__, str(number), folder / "mlflow.db"], check=True, capture_output=True, text=True)
    return float(done.stdout.splitlines()[-1])


def main(number: int, database: str) -> None:
    from mlflow.entities import Metric
    from mlflow.tracking import MlflowClient

    client = MlflowClient(f"sqlite:///{database}")
    run = client.create_run(client.create_experiment("bench"))
    start = time.perf_counter()
    for first in range(0, number, BATCH):
        made = [Metric(f"rows_{each % 3}", float(each), 1_700_000_000_000 + each, each) for each in range(first, first + BATCH)]
        client.log_batch(run.info.run_id, made)
    print(number / (time.perf_counter() - start))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
