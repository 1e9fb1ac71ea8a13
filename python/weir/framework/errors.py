"""tf.errors: one exception class per status code, all of them OpErrors."""

__all__ = ["OpError", "error_code_to_exception_type", "exception_type_to_error_code", "raise_exception_on_not_ok_status"]

OK = 0
CANCELLED = 1
UNKNOWN = 2
INVALID_ARGUMENT = 3
DEADLINE_EXCEEDED = 4
NOT_FOUND = 5
ALREADY_EXISTS = 6
PERMISSION_DENIED = 7
RESOURCE_EXHAUSTED = 8
FAILED_PRECONDITION = 9
ABORTED = 10
OUT_OF_RANGE = 11
UNIMPLEMENTED = 12
INTERNAL = 13
UNAVAILABLE = 14
DATA_LOSS = 15
UNAUTHENTICATED = 16

_MODULE = "tensorflow.python.framework.errors_impl"


class OpError(Exception):
    """An error of an operation: `message`, `error_code`, and the node and Operation where they are known."""
    __module__ = _MODULE

    def __init__(self, node_def, op, message, error_code, *args):
        super().__init__()
        self._node_def = node_def
        self._op = op
        self._message = message
        self._error_code = error_code
        self._experimental_payloads = args[0] if args and isinstance(args[0], dict) else {}

    @property
    def message(self):
        return self._message

    @property
    def op(self):
        return self._op

    @property
    def error_code(self):
        return self._error_code

    @property
    def node_def(self):
        return self._node_def

    @property
    def experimental_payloads(self):
        return self._experimental_payloads

    def __reduce__(self):
        return self.__class__, (self._node_def, self._op, self._message) + (
            (self._error_code,) if type(self) is OpError else ())

    def __str__(self):
        return self._message


_CLASSES = {}


def _define(name, code, doc, bases=(OpError,)):
    def __init__(self, node_def, op, message, *args):
        if args and not isinstance(args[0], dict):  # rebuilt from another: (node_def, op, message, error_code)
            args = args[1:]
        OpError.__init__(self, node_def, op, message, code, *args)
    cls = type(name, bases, {"__init__": __init__, "__doc__": doc, "__module__": _MODULE})
    _CLASSES[code] = cls
    globals()[name] = cls
    __all__.append(name)
    return cls


_define("CancelledError", CANCELLED, "An operation was cancelled.")
_define("UnknownError", UNKNOWN, "An error that belongs to no other class.")
_define("InvalidArgumentError", INVALID_ARGUMENT, "An operation got an argument that it cannot work with.")
_define("DeadlineExceededError", DEADLINE_EXCEEDED, "A deadline passed before an operation could complete.")
_define("NotFoundError", NOT_FOUND, "A file or other entity was not found.")
_define("AlreadyExistsError", ALREADY_EXISTS, "An entity that was to be created exists already.")
_define("PermissionDeniedError", PERMISSION_DENIED, "The caller may not run an operation.")
_define("ResourceExhaustedError", RESOURCE_EXHAUSTED, "Memory or another resource has run out.")
_define("FailedPreconditionError", FAILED_PRECONDITION, "The state of the system does not allow an operation.")
_define("AbortedError", ABORTED, "An operation was aborted, usually by a concurrent one.")
_define("OutOfRangeError", OUT_OF_RANGE, "An iteration went past the end of its input.")
_define("UnimplementedError", UNIMPLEMENTED, "An operation has not been implemented.")
_define("InternalError", INTERNAL, "An invariant of the runtime was broken.")
_define("UnavailableError", UNAVAILABLE, "The runtime or a peer is currently unavailable.")
_define("DataLossError", DATA_LOSS, "Data were lost or corrupted.")
_define("UnauthenticatedError", UNAUTHENTICATED, "The request has no valid credentials.")


class OperatorNotAllowedInGraphError(TypeError):
    """A symbolic tensor was used where Python needs a value."""
    __module__ = _MODULE


class InaccessibleTensorError(ValueError):
    """A tensor of one function was used in another."""
    __module__ = _MODULE


def error_code_to_exception_type(code):
    return OpError if code not in _CLASSES else _CLASSES[code]


exception_type_from_error_code = error_code_to_exception_type


def exception_type_to_error_code(cls):
    return next(code for code, known in _CLASSES.items() if known is cls)


error_code_from_exception_type = exception_type_to_error_code


def _make_error(code, message):
    if code in _CLASSES:
        return _CLASSES[code](None, None, message)
    return OpError(None, None, message, code)
