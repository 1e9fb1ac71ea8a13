"""AutoGraph: Python's control flow over tensors as parts of a graph.

`tf.function` converts the functions it traces. `if`, `while`, `for`, `break`, `continue`, `return`, `and`, `or`, `not`,
conditional expressions, `assert` and calls of further functions are understood; everything else runs as Python while
the graph is built. Sources keep their lines, so errors point into the user's program.
"""

import enum
import functools

from weir.autograph import conversion
from weir.autograph.context import ControlContext as _ControlContext
from weir.autograph.context import ControlStatus as _ControlStatus
from weir.autograph.context import control_status as _control_status
from weir.autograph.operators import set_loop_options  # noqa: F401


class Feature(enum.Enum):
    """Optional parts of the conversion, accepted for compatibility: all of them are always on."""
    ALL = "ALL"
    AUTO_CONTROL_DEPS = "AUTO_CONTROL_DEPS"
    ASSERT_STATEMENTS = "ASSERT_STATEMENTS"
    BUILTIN_FUNCTIONS = "BUILTIN_FUNCTIONS"
    EQUALITY_OPERATORS = "EQUALITY_OPERATORS"
    LISTS = "LISTS"
    NAME_SCOPES = "NAME_SCOPES"


def do_not_convert(func=None):
    """A decorator: the function and all that it calls run as they are written."""
    if func is None:
        return do_not_convert
    if not callable(func):
        return func

    @functools.wraps(func, assigned=[a for a in functools.WRAPPER_ASSIGNMENTS if hasattr(func, a)])
    def unconverted(*args, **kwargs):
        with _ControlContext(_ControlStatus.DISABLED):
            return func(*args, **kwargs)

    unconverted.__ag_do_not_convert__ = True
    return unconverted


def tf_convert(function, status=None):
    """`function` converted if `status` (by default the caller's) is not "disabled"."""
    status = _control_status() if status is None else status
    if getattr(function, "__ag_do_not_convert__", False):
        return function
    if status == _ControlStatus.DISABLED:
        return do_not_convert(function)
    return conversion.wrapper(function)


def convert_for_trace(function):
    """What `tf.function` traces in place of `function`."""
    return tf_convert(function, _ControlStatus.ENABLED)


def convert(recursive=False, optional_features=None, user_requested=True, conversion_ctx=None):
    """A decorator that converts a function."""
    del recursive, optional_features, user_requested, conversion_ctx
    return conversion.wrapper


def to_graph(entity, recursive=True, experimental_optional_features=None):
    """A converted function."""
    del recursive, experimental_optional_features
    return conversion.wrapper(entity)


def to_code(entity, recursive=True, experimental_optional_features=None):
    """The source of a converted function."""
    del recursive, experimental_optional_features
    target = entity
    for attribute in ("python_function", "ag_target", "__wrapped__"):
        while hasattr(target, attribute):
            target = getattr(target, attribute)
    converted = conversion.convert_function(target)
    if not hasattr(converted, "ag_source"):
        raise ValueError(f"No source found for {entity}")
    return converted.ag_source


_verbosity = 0


def set_verbosity(level, alsologtostdout=False):
    """How much the conversion says about itself."""
    del alsologtostdout
    global _verbosity
    _verbosity = level


def trace(*args):
    """Prints its arguments while a graph is built."""
    print(*args)


import weir  # noqa: E402

__getattr__ = weir.names_of(__name__)  # tf.autograph.experimental
