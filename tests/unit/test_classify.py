"""Which kind of failure an exception is: real ones where the library is here, classes of the same name where it is not."""

from __future__ import annotations

import decimal
import errno
import json
import socket
import sqlite3
import ssl
import urllib.error
from email.message import Message
from types import SimpleNamespace
from typing import Any

import psycopg
import pydantic
import pytest
from py4j.protocol import Py4JError, Py4JNetworkError  # type: ignore[import-untyped]
from pyspark.errors import (
    AnalysisException,
    ArithmeticException,
    IllegalArgumentException,
    NumberFormatException,
    ParseException,
    PySparkTypeError,
    PySparkValueError,
    PythonException,
    StreamingQueryException,
)

from lakeledger.errors import Conflict, Failed, Forbidden, Invalid, Unavailable
from lakeledger.pipelines.apply import Refused
from lakeledger.sync.failures import ErrorType, classify, error_code


def named(name: str, *bases: str, message: str = "", **attributes: Any) -> BaseException:
    """An exception of a library that is not installed, known by its classes' names, the nearest first."""
    kind: type[Exception] = Exception
    for each in (*reversed(bases), name):
        kind = type(each, (kind,), {})
    error = kind(message)
    for key, value in attributes.items():
        setattr(error, key, value)
    return error


def raised_by_sqlite(statement: str) -> sqlite3.Error:
    connection = sqlite3.connect(":memory:")
    connection.execute("create table orders (id integer primary key, qty integer not null check (qty > 0))")
    try:
        connection.execute(statement)
    except sqlite3.Error as error:
        return error
    finally:
        connection.close()
    raise AssertionError(statement)


def locked_by_another(path: str) -> sqlite3.Error:
    holder, other = sqlite3.connect(path, isolation_level=None), sqlite3.connect(path, isolation_level=None, timeout=0)
    try:
        holder.execute("begin exclusive")
        other.execute("begin immediate")
    except sqlite3.Error as error:
        return error
    finally:
        holder.close()
        other.close()
    raise AssertionError(path)


def raised_by_pydantic() -> pydantic.ValidationError:
    class Order(pydantic.BaseModel):
        id: int

    try:
        Order.model_validate({"id": "x"})
    except pydantic.ValidationError as error:
        return error
    raise AssertionError


def spark(message: str, condition: str, kind: type = AnalysisException) -> BaseException:
    error: BaseException = kind(message, errorClass=condition, messageParameters={})
    return error


def caused(outer: BaseException, cause: BaseException) -> BaseException:
    outer.__cause__ = cause
    return outer


def http_error(status: int) -> BaseException:
    return named("HTTPStatusError", "HTTPError", message=f"{status}", response=SimpleNamespace(status_code=status))


JAVA_TRACE = "An error occurred while calling o42.load.\n: java.sql.{}: it failed\n\tat com.example.Driver.connect(Driver.java:12)"

CASES: list[tuple[BaseException, str]] = [
    (ConnectionRefusedError(errno.ECONNREFUSED, "refused"), "connection"),
    (BrokenPipeError(), "connection"),
    (OSError(errno.EHOSTUNREACH, "no route"), "connection"),
    (socket.gaierror(-2, "Name or service not known"), "connection"),
    (ssl.SSLError("handshake"), "connection"),
    (TimeoutError("slow"), "timeout"),
    (TimeoutError(), "timeout"),
    (OSError(errno.ETIMEDOUT, "slow"), "timeout"),
    (PermissionError(errno.EACCES, "no"), "permission"),
    (OSError(errno.EROFS, "read-only"), "permission"),
    (ValueError("time data '2023-13-45' does not match format '%Y-%m-%d'"), "validation"),
    (json.JSONDecodeError("Expecting value", "{", 1), "validation"),
    (AssertionError("id is negative"), "validation"),
    (TypeError("unsupported operand"), "transformation"),
    (KeyError("order_date"), "transformation"),
    (AttributeError("no attribute"), "transformation"),
    (ZeroDivisionError("division by zero"), "transformation"),
    (decimal.InvalidOperation("bad"), "transformation"),
    (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"), "transformation"),
    (psycopg.errors.UniqueViolation("duplicate"), "constraint"),
    (psycopg.errors.ForeignKeyViolation("missing"), "constraint"),
    (psycopg.errors.NotNullViolation("null"), "constraint"),
    (psycopg.errors.UndefinedTable("no table"), "schema"),
    (psycopg.errors.UndefinedColumn("no column"), "schema"),
    (psycopg.errors.InvalidSchemaName("no schema"), "schema"),
    (psycopg.errors.InsufficientPrivilege("no"), "permission"),
    (psycopg.errors.InvalidPassword("no"), "permission"),
    (psycopg.errors.QueryCanceled("statement timeout"), "timeout"),
    (psycopg.errors.LockNotAvailable("locked"), "timeout"),
    (psycopg.errors.SerializationFailure("again"), "timeout"),
    (psycopg.errors.AdminShutdown("bye"), "connection"),
    (psycopg.errors.TooManyConnections("full"), "connection"),
    (psycopg.errors.ConnectionFailure("lost"), "connection"),
    (psycopg.errors.InvalidDatetimeFormat("bad date"), "transformation"),
    (psycopg.errors.NumericValueOutOfRange("big"), "transformation"),
    (psycopg.OperationalError("connection to server failed"), "connection"),
    (psycopg.OperationalError('FATAL: password authentication failed for user "ann"'), "permission"),
    (psycopg.errors.ConnectionTimeout("connection timeout expired"), "timeout"),
    (raised_by_sqlite("insert into orders values (1, 0)"), "constraint"),
    (raised_by_sqlite("insert into orders values (1, null)"), "constraint"),
    (raised_by_sqlite("select * from missing"), "schema"),
    (raised_by_sqlite("select missing from orders"), "schema"),
    (raised_by_sqlite("selec"), "unknown"),
    (raised_by_sqlite("attach 'file:/missing/folder/x.db?mode=ro' as x"), "connection"),
    (spark("no table", "TABLE_OR_VIEW_NOT_FOUND"), "schema"),
    (ParseException("syntax"), "schema"),
    (spark("bad", "CAST_INVALID_INPUT", NumberFormatException), "transformation"),
    (spark("big", "ARITHMETIC_OVERFLOW", ArithmeticException), "transformation"),
    (spark("null", "NOT_NULL_ASSERT_VIOLATION", StreamingQueryException), "constraint"),
    (PySparkValueError("bad"), "validation"),
    (PySparkTypeError("bad"), "validation"),
    (IllegalArgumentException("bad"), "validation"),
    (PythonException("Traceback …\nValueError: could not convert string"), "validation"),
    (PythonException("Traceback …\nConnectionResetError: [Errno 104]\nConnectionError: gone"), "connection"),
    (Py4JError(JAVA_TRACE.format("SQLTimeoutException")), "timeout"),
    (Py4JError(JAVA_TRACE.format("SQLIntegrityConstraintViolationException")), "constraint"),
    (Py4JError("org.apache.hadoop.security.AccessControlException: Permission denied"), "permission"),
    (Py4JError("java.net.UnknownHostException: db"), "connection"),
    (Py4JNetworkError("answer from Java side is empty"), "connection"),
    (named("DuplicateKeyError", "WriteError", "OperationFailure", "PyMongoError", code=11000), "constraint"),
    (named("WriteError", "OperationFailure", "PyMongoError", code=121), "validation"),
    (named("OperationFailure", "PyMongoError", code=13), "permission"),
    (named("ServerSelectionTimeoutError", "AutoReconnect", "ConnectionFailure", "PyMongoError"), "connection"),
    (named("NetworkTimeout", "AutoReconnect", "PyMongoError"), "timeout"),
    (named("ConnectTimeout", "ConnectionError", "RequestException"), "timeout"),
    (named("ReadError", "NetworkError", "TransportError"), "connection"),
    (http_error(401), "permission"),
    (http_error(429), "connection"),
    (http_error(503), "connection"),
    (http_error(504), "timeout"),
    (http_error(422), "validation"),
    (urllib.error.HTTPError("http://x", 403, "Forbidden", Message(), None), "permission"),
    (named("EndpointConnectionError", "BotoCoreError"), "connection"),
    (named("NoCredentialsError", "BotoCoreError"), "permission"),
    (named("ClientError", response={"Error": {"Code": "AccessDeniedException"}}), "permission"),
    (named("ClientError", response={"Error": {"Code": "ThrottlingException"}}), "connection"),
    (named("NoBrokersAvailable", "KafkaError"), "connection"),
    (named("KafkaTimeoutError", "KafkaError"), "timeout"),
    (named("TopicAuthorizationFailedError", "KafkaError"), "permission"),
    (Unavailable("gone"), "connection"),
    (Forbidden("no"), "permission"),
    (Conflict("twice"), "constraint"),
    (Invalid("bad"), "validation"),
    (Refused("3 of 5 rows are bad, more than max_bad_rows 2: 2 × it cannot be read by the schema"), "validation"),
    (raised_by_pydantic(), "validation"),
    (named("ValidationError", "_Error", message="'id' is a required property"), "validation"),
    (Exception("Connection refused by peer"), "connection"),
    (Exception("the request timed out"), "timeout"),
    (Exception("Access denied for user"), "permission"),
    (Exception("Duplicate entry '5' for key 'PRIMARY'"), "constraint"),
    (Exception("Table 'shop.orders' doesn't exist"), "schema"),
    (Exception("cannot cast '12x' to int"), "transformation"),
    (Exception("invalid date"), "validation"),
    (Exception("something happened"), "unknown"),
    (Exception(), "unknown"),
]


@pytest.mark.parametrize(
    ("error", "kind"), CASES, ids=lambda value: f"{type(value).__name__}" if isinstance(value, BaseException) else value
)
def test_an_exception_has_a_kind(error: BaseException, kind: str) -> None:
    assert classify(error) == kind


def test_a_database_locked_by_another_writer_is_a_timeout(tmp_path: Any) -> None:
    assert classify(locked_by_another(f"{tmp_path}/locked.db")) == ErrorType.TIMEOUT


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (caused(RuntimeError("load failed"), TimeoutError()), "timeout"),
        (caused(Failed("PostgreSQL failed"), psycopg.errors.UndefinedTable("x")), "schema"),
        (caused(ValueError("bad answer"), ConnectionResetError()), "connection"),
        (caused(TimeoutError(), ConnectionResetError()), "timeout"),
        (ExceptionGroup("several", [RuntimeError("a"), PermissionError("b")]), "permission"),
    ],
)
def test_what_says_little_is_explained_by_its_cause(error: BaseException, kind: str) -> None:
    assert classify(error) == kind


def test_what_an_exception_was_raised_during_counts_unless_it_is_suppressed() -> None:
    error = RuntimeError("something")
    error.__context__ = TimeoutError()
    assert classify(error) == ErrorType.TIMEOUT
    error.__suppress_context__ = True
    assert classify(error) == ErrorType.UNKNOWN


def test_a_circle_of_causes_ends() -> None:
    first, second = RuntimeError("a"), RuntimeError("b")
    first.__cause__, second.__cause__ = second, first
    assert classify(first) == ErrorType.UNKNOWN


def test_an_exception_that_cannot_describe_itself_is_still_judged() -> None:
    class MuteError(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no")

        def getSqlState(self) -> str:  # noqa: N802
            raise RuntimeError("the JVM is gone")

    assert classify(MuteError("connection refused")) == ErrorType.CONNECTION


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (psycopg.errors.UniqueViolation("x"), "23505"),
        (spark("x", "CAST_INVALID_INPUT"), "CAST_INVALID_INPUT"),
        (raised_by_sqlite("insert into orders values (1, 0)"), "SQLITE_CONSTRAINT_CHECK"),
        (OSError(errno.ENOSPC, "full"), "ENOSPC"),
        (caused(RuntimeError("x"), psycopg.errors.UniqueViolation("x")), "23505"),
        (named("ClientError", response={"Error": {"Code": "SlowDown"}}), "SlowDown"),
        (ValueError("x"), None),
    ],
)
def test_an_exception_has_the_code_that_it_or_its_cause_carries(error: BaseException, code: str | None) -> None:
    assert error_code(error) == code
