"""Sessions on a Spark Connect server: opened with bounded patience, and given up when the server no longer knows them."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies

from lakeledger.errors import Conflict, Failed, Invalid, NotInstalled, Unavailable
from lakeledger.pipelines.reaching import reach
from lakeledger.redaction import scrub

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_log = logging.getLogger(__name__)

PORT = 15002
# Spark Connect tries a request again for ten minutes when nobody answers. These pauses are six seconds together, in milliseconds.
PATIENCE: dict[str, Any] = {"max_retries": 5, "initial_backoff": 50, "backoff_multiplier": 4.0, "max_backoff": 2_000}
# Settings of the JVM that the server runs in: it was started without us.
DRIVER = "spark.driver."
_FORM = "write sc://host:15002, with parameters sc://host:15002/;user_id=ann;token=…"


def is_remote(spark: SparkSession) -> bool:
    """Whether the session is one of Spark Connect."""
    return type(spark).__module__.startswith("pyspark.sql.connect.")


def connect(remote: str, conf: Mapping[str, str]) -> SparkSession:
    """A new session on the server, with those settings that a session can have; the others are named in one line of the log.

    Raises Invalid, NotInstalled, Conflict, Unavailable or Failed.
    """
    from pyspark.sql import SparkSession

    with opening(check_address(remote)):
        # Without settings nothing is sent yet: the first request is made with our patience.
        session = SparkSession.builder.remote(remote).getOrCreate()
    limit_patience(session)
    try:
        _configure(session, conf)
    except BaseException:
        close(session)
        raise
    return session


@contextmanager
def opening(place: str) -> Iterator[None]:
    """Raise NotInstalled, Conflict or Failed for what Spark raises while it opens a session there."""
    from pyspark.errors import PySparkException, PySparkImportError

    try:
        yield
    except (PySparkImportError, ModuleNotFoundError) as error:
        reason = str(error).partition("\n")[0]
        raise NotInstalled(f"Spark Connect is not installed: pip install 'lakeledger[connect]' ({reason})") from error
    except PySparkException as error:
        if error.getCondition() == "SESSION_ALREADY_EXIST":
            raise Conflict("a classic Spark session is running: stop it before one of Spark Connect is opened") from error
        reason = scrub(str(error).partition("\n")[0])
        raise Failed(f"no Spark Connect session at {place}: {reason}; run `lakeledger doctor`") from error


def limit_patience(session: SparkSession) -> None:
    """Have a session of ours say within seconds that its server is gone."""
    from pyspark.sql.connect.client.retries import DefaultPolicy

    warnings.filterwarnings("ignore", r"\[RETRIES_EXCEEDED\]", UserWarning)  # The error is enough.
    _client(session).set_retry_policies([DefaultPolicy(**PATIENCE)])


def close(session: SparkSession) -> None:
    """Give up a session of ours. Whoever asks Spark for the running one does not find it any more."""
    _client(session).close()


def check_address(remote: str) -> str:
    """The host and port of a Spark Connect address. Raises Invalid, or Unavailable if nobody answers there."""
    host, port = address_of(remote)
    _check(host, port)
    return f"{host}:{port}"


def check_server(session: SparkSession) -> None:
    """Raise Unavailable if the session is one of a Spark Connect server and nobody answers there."""
    if not is_remote(session):
        return
    # Others, such as Databricks', find their way by themselves.
    endpoint = getattr(getattr(_client(session), "_builder", None), "endpoint", "")
    host, _, port = endpoint.rpartition(":")
    if host and port.isdecimal() and "/" not in host:
        _check(host, int(port))


def answers(session: SparkSession) -> bool:
    """Whether there is anybody to tidy up at: Spark would look for a Spark Connect server that is gone for a while."""
    try:
        check_server(session)
    except Unavailable:
        return False
    return True


def is_alive(session: SparkSession) -> bool:
    """Whether the server still knows the session, and its connection works. Raises Unavailable if there is no server."""
    from pyspark.errors import PySparkException

    from lakeledger.pipelines.translating import translated

    if _client(session).is_closed:
        return False
    check_server(session)
    try:
        session.conf.get("spark.sql.session.timeZone")
    except PySparkException as error:
        told = translated(error)
        if isinstance(told, Unavailable):
            return False
        raise told from error
    return True


def address_of(remote: str) -> tuple[str, int]:
    """The host and port of a Spark Connect address. Raises Invalid without quoting it: one of its parameters may be a token."""
    place, *parameters = remote.split(";")
    try:
        parts = urlsplit(place)
        host, port = parts.hostname, parts.port or PORT
    except ValueError:
        raise Invalid(f"the Spark Connect address has no number as its port: {_FORM}") from None
    if parts.scheme != "sc" or not host or parts.path not in ("", "/") or parts.username or parts.query:
        raise Invalid(f"this is no Spark Connect address: {_FORM}")
    if parameters and not parts.path:
        raise Invalid(f"the parameters of a Spark Connect address stand behind a slash: {_FORM}")
    for name, *values in (parameter.split("=") for parameter in parameters):
        if len(values) != 1:
            which = f"{name} has more than one equals sign: write %3D for one in a value" if values else "one has no equals sign"
            raise Invalid(f"the parameters of the Spark Connect address are name=value pairs, but {which}")
    return host, port


def _check(host: str, port: int) -> None:
    if getproxies():
        return  # gRPC goes through the proxy, so a direct connection proves nothing
    if reason := reach(host, port):
        raise Unavailable(f"no Spark Connect server at {host}:{port}: {reason}; see that it runs, or change `remote` under [spark]")


def _configure(session: SparkSession, conf: Mapping[str, str]) -> None:
    from pyspark.errors import PySparkException

    from lakeledger.pipelines.translating import explain, translated

    left_out = [name for name in conf if name.startswith(DRIVER)]
    for name, value in conf.items():
        if name.startswith(DRIVER):
            continue
        try:
            session.conf.set(name, value)
        except PySparkException as error:
            condition = error.getCondition() or ""
            if condition.startswith("CANNOT_MODIFY"):
                left_out.append(name)
            elif condition.startswith("INVALID_CONF_VALUE"):
                raise Invalid(f"{name} under [spark.conf] is wrong: {scrub(explain(error))}") from error
            else:
                raise translated(error) from error
    if left_out:
        _log.warning("left to the Spark Connect server, which decides on them at its start: %s", ", ".join(sorted(left_out)))


def _client(session: SparkSession) -> Any:
    return session.client  # type: ignore[operator]  # a decorated property, which mypy takes for a function
