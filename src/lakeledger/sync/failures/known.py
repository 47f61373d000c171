"""What is known of other libraries' failures: their codes, the names of their classes, the words they use. Nothing is imported."""

from __future__ import annotations

import errno
import re

from lakeledger.sync.failures.kinds import ErrorType

_CONNECTION, _TRANSFORMATION, _CONSTRAINT, _SCHEMA, _TIMEOUT, _PERMISSION, _VALIDATION, _UNKNOWN = ErrorType

# By SQLSTATE (PostgreSQL, Spark); the longest beginning counts. 40: another transaction was in the way for now.
SQL_STATES = {
    "08": _CONNECTION,
    "53": _CONNECTION,
    "57P": _CONNECTION,
    "58": _CONNECTION,
    "57014": _TIMEOUT,
    "55P03": _TIMEOUT,
    "25P03": _TIMEOUT,
    "40": _TIMEOUT,
    "23": _CONSTRAINT,
    "44": _CONSTRAINT,
    "28": _PERMISSION,
    "42501": _PERMISSION,
    "42": _SCHEMA,
    "3D": _SCHEMA,
    "3F": _SCHEMA,
    "22": _TRANSFORMATION,
}

SQLITE_ERRORS = {
    "SQLITE_BUSY": _TIMEOUT,
    "SQLITE_LOCKED": _TIMEOUT,
    "SQLITE_CONSTRAINT": _CONSTRAINT,
    "SQLITE_CANTOPEN": _CONNECTION,
    "SQLITE_IOERR": _CONNECTION,
    "SQLITE_FULL": _CONNECTION,
    "SQLITE_READONLY": _PERMISSION,
    "SQLITE_PERM": _PERMISSION,
    "SQLITE_AUTH": _PERMISSION,
    "SQLITE_SCHEMA": _SCHEMA,
    "SQLITE_MISMATCH": _TRANSFORMATION,
    "SQLITE_TOOBIG": _TRANSFORMATION,
}

SPARK_CONDITIONS = {
    "CAST_": _TRANSFORMATION,
    "ARITHMETIC_": _TRANSFORMATION,
    "DIVIDE_BY_ZERO": _TRANSFORMATION,
    "NUMERIC_": _TRANSFORMATION,
    "CANNOT_PARSE_": _TRANSFORMATION,
    "MALFORMED_": _TRANSFORMATION,
    "NOT_NULL_": _CONSTRAINT,
    "INSUFFICIENT_PERMISSIONS": _PERMISSION,
    "SESSION_": _CONNECTION,
}

# AWS and others answer with a code.
SERVICE_CODES = {
    "AccessDenied": _PERMISSION,
    "ExpiredToken": _PERMISSION,
    "InvalidAccessKeyId": _PERMISSION,
    "SignatureDoesNotMatch": _PERMISSION,
    "UnauthorizedOperation": _PERMISSION,
    "RequestTimeout": _TIMEOUT,
    "ServiceUnavailable": _CONNECTION,
    "SlowDown": _CONNECTION,
    "Throttling": _CONNECTION,
    "ConditionalCheckFailed": _CONSTRAINT,
    "ResourceNotFound": _SCHEMA,
    "Validation": _VALIDATION,
}

HTTP_STATUSES = {
    400: _VALIDATION,
    401: _PERMISSION,
    403: _PERMISSION,
    407: _PERMISSION,
    408: _TIMEOUT,
    409: _CONSTRAINT,
    422: _VALIDATION,
    429: _CONNECTION,
    500: _CONNECTION,
    502: _CONNECTION,
    503: _CONNECTION,
    504: _TIMEOUT,
}

ERRNOS = {
    errno.EHOSTUNREACH: _CONNECTION,
    errno.ENETUNREACH: _CONNECTION,
    errno.ENETDOWN: _CONNECTION,
    errno.ENOTCONN: _CONNECTION,
    errno.ECONNREFUSED: _CONNECTION,
    errno.ECONNRESET: _CONNECTION,
    errno.EPIPE: _CONNECTION,
    errno.EROFS: _PERMISSION,
    errno.EACCES: _PERMISSION,
    errno.EPERM: _PERMISSION,
    errno.ETIMEDOUT: _TIMEOUT,
}

MONGO_CODES = {11000: _CONSTRAINT, 121: _VALIDATION, 13: _PERMISSION, 18: _PERMISSION, 50: _TIMEOUT, 26: _SCHEMA}

# By the name of the exception's class or of one that it derives from, in Python or, quoted in a message, in Java.
_CLASSES = {
    _CONNECTION: """
        ConnectionError Unavailable gaierror herror SSLError InterfaceError IncompleteRead RemoteDisconnected
        NewConnectionError MaxRetryError AdminShutdown AutoReconnect ConnectionFailure NotPrimaryError ServerSelectionTimeoutError
        ConnectError NetworkError RemoteProtocolError ProxyError ChunkedEncodingError ProtocolError
        EndpointConnectionError HTTPClientError ConnectionClosedError NoBrokersAvailable KafkaConnectionError NodeNotReadyError
        RetriesExceeded Py4JNetworkError
        ConnectException UnknownHostException SocketException NoRouteToHostException CommunicationsException
        SQLTransientConnectionException SQLNonTransientConnectionException SQLRecoverableException MongoSocketException
    """,
    _TIMEOUT: """
        TimeoutError Timeout TimeoutException ConnectTimeout ConnectionTimeout ReadTimeout NetworkTimeout WTimeoutError ExecutionTimeout
        ConnectTimeoutError ReadTimeoutError KafkaTimeoutError RequestTimedOutError PoolTimeout
        QueryCanceled LockNotAvailable DeadlockDetected SerializationFailure
        SQLTimeoutException SocketTimeoutException LockTimeoutException MongoTimeoutException
    """,
    _PERMISSION: """
        PermissionError Forbidden NoCredentialsError PartialCredentialsError CredentialRetrievalError
        TopicAuthorizationFailedError GroupAuthorizationFailedError ClusterAuthorizationFailedError
        AuthenticationFailedError SaslAuthenticationError InvalidPassword InsufficientPrivilege
        AccessControlException AccessDeniedException SQLInvalidAuthorizationSpecException AuthorizationException
        MongoSecurityException
    """,
    _CONSTRAINT: """
        IntegrityError Conflict DuplicateKeyError UniqueViolation ForeignKeyViolation NotNullViolation CheckViolation
        SQLIntegrityConstraintViolationException DuplicateKeyException
    """,
    _SCHEMA: """
        AnalysisException ParseException NoSuchTableException NoSuchNamespaceException NoSuchDatabaseException
        TempTableAlreadyExistsException SQLSyntaxErrorException SchemaColumnConvertNotSupportedException
        CollectionInvalid UnknownTopicOrPartitionError UndefinedTable UndefinedColumn ArrowTypeError
    """,
    _VALIDATION: """
        Invalid ValidationError PydanticCustomError SchemaError DocumentTooLarge WriteBatchError ArrowInvalid ParamValidationError
        IllegalArgumentException PySparkValueError PySparkTypeError PySparkAssertionError SparkNoSuchElementException
    """,
    _TRANSFORMATION: """
        DataError InvalidDocument BSONError ArithmeticException NumberFormatException DateTimeException DateTimeParseException
        SparkDateTimeException SparkArithmeticException SparkNumberFormatException ClassCastException
        ArrayIndexOutOfBoundsException SerializerError SerializationError MalformedInputException
    """,
}
BY_CLASS = {name: kind for kind, names in _CLASSES.items() for name in names.split()}

# They say little, so whatever they were raised from is asked first.
BUILT_IN = {
    "UnicodeError": _TRANSFORMATION,
    "ArithmeticError": _TRANSFORMATION,
    "TypeError": _TRANSFORMATION,
    "LookupError": _TRANSFORMATION,
    "AttributeError": _TRANSFORMATION,
    "ValueError": _VALIDATION,
    "AssertionError": _VALIDATION,
    # Ours, unless what they were raised from tells more.
    "Invalid": _VALIDATION,
    "Refused": _VALIDATION,
    "Forbidden": _PERMISSION,
    "Unavailable": _CONNECTION,
}

_WORDS = {
    _TIMEOUT: (r"timed? ?out", "deadline exceeded", "lock wait", "database is locked", "deadlock"),
    _PERMISSION: (
        r"(?:permission|access) (?:is )?denied",
        "forbidden",
        r"(?:un|not )authori[sz]ed",
        r"(?:authentication|login) failed",
    ),
    _CONNECTION: (
        r"connection (?:was |is )?(?:refused|reset|closed|aborted|lost)",
        r"(?:could not|cannot|failed to|unable to) connect",
        "closed the connection",
        "too many connections",
        "broken pipe",
        "name or service not known",
        "unknown host",
        "unreachable",
        "no route to host",
    ),
    _CONSTRAINT: (
        r"duplicate (?:key|entry)",
        r"unique (?:constraint|index)",
        "foreign key",
        r"(?:constraint|check) (?:failed|violat)",
        "violates",
        r"not[- ]null",
    ),
    _SCHEMA: (
        r"(?:no such|unknown) (?:table|column)",
        r"(?:table|column|relation|schema|field|database)\b.*(?:not found|(?:does not|doesn't) exist)",
        "has no column",
        r"schema (?:mismatch|changed)",
    ),
    _TRANSFORMATION: (
        r"(?:cannot|could not|can't|unable to|failed to) (?:be )?(?:cast|convert|parse|decode|encode)",
        "overflow",
        r"divi(?:sion|ded?) by zero",
        "out of range",
    ),
    _VALIDATION: (r"\binvalid\b", "malformed", "required", "does not match", "not allowed", r"must (?:be|not)"),
}
BY_WORDS = {kind: re.compile("|".join(patterns), re.IGNORECASE) for kind, patterns in _WORDS.items()}
QUOTED_CLASS = re.compile(r"\b[A-Z]\w*(?:Exception|Error|Timeout)\b")
