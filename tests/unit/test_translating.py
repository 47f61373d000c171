"""Spark's errors as ours: what is gone, what is not seen, and what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from lakeledger import Failed, Invalid, LakeledgerError, Unavailable
from lakeledger.pipelines.translating import translated, translating

REFUSED = """<_InactiveRpcError of RPC that terminated with:
\tstatus = StatusCode.UNAVAILABLE
\tdetails = "failed to connect to all addresses; last error: UNKNOWN: ipv4:10.0.0.7:15002: Failed to connect to remote host: connect: Connection refused (111)"
\tdebug_error_string = "UNKNOWN:Error received from peer  {grpc_status:14}"
>"""  # noqa: E501 - as gRPC prints it
UNSEEN = "[FAILED_READ_FILE.FILE_NOT_EXIST] Encountered error while reading file file://{}. File does not exist. SQLSTATE: KD001"
UNMADE = "Task failed.\nCaused by: java.io.IOException: Mkdirs failed to create file:/mnt/lake/x (exists=false, cwd=file:/spark)\n\tat a.B"


@pytest.mark.parametrize(
    ("text", "kind", "told"),
    [
        ("[INVALID_HANDLE.SESSION_CHANGED] The handle … is invalid. The existing Spark server driver instance has restarted.",
         Unavailable, "the Spark session has ended"),
        ("[INVALID_HANDLE.SESSION_CLOSED] The handle … is invalid. Session was closed.", Unavailable, "`ledger.spark` opens another"),
        ("Received incorrect server side session identifier for request.", Unavailable, "the Spark session has ended"),
        ("Job 3 cancelled because SparkContext was shut down", Unavailable, "Spark was stopped while it was needed: run it again"),
        ("Cannot call methods on a stopped SparkContext.", Unavailable, "Spark was stopped while it was needed: run it again"),
        (UNMADE, Invalid, "Spark cannot make /mnt/lake/x: choose a warehouse that every machine"),
        ("something else", Failed, "something else"),
    ],
)  # fmt: skip
def test_what_spark_says_becomes_one_of_our_errors(text: str, kind: type[LakeledgerError], told: str) -> None:
    from pyspark.errors import PySparkException

    error = translated(PySparkException(text))
    assert type(error) is kind
    assert told in str(error)
    assert "\n" not in str(error)
    assert error.retryable is (kind is Unavailable)


def test_a_server_that_does_not_answer_is_named() -> None:
    import grpc  # type: ignore[import-untyped]  # it has no types
    from pyspark.errors.exceptions.connect import SparkConnectGrpcException

    with pytest.raises(Unavailable, match=r"does not answer: 10\.0\.0\.7:15002: Connection refused; see that it runs"), translating():
        raise SparkConnectGrpcException(message=REFUSED, grpc_status_code=grpc.StatusCode.UNAVAILABLE)


def test_a_file_that_only_spark_does_not_see_is_on_a_disk_that_is_not_shared(tmp_path: Path) -> None:
    from pyspark.errors import PySparkException

    here = tmp_path / "1.csv"
    assert isinstance(translated(PySparkException(UNSEEN.format(here))), Failed)
    here.touch()
    error = translated(PySparkException(UNSEEN.format(here)))
    assert isinstance(error, Invalid)
    assert str(error) == f"{here} is here, but not where Spark runs: put it on storage that all its machines share"


def test_what_is_not_sparks_is_left_alone() -> None:
    with pytest.raises(ValueError, match="mine"), translating():
        raise ValueError("mine")
