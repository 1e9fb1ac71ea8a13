"""Public functions that are one op each, such as `tf.math.sin`: name, parameters and documentation are the op's.

Attributes of this module are made on first use from the op tables. They differ from `tf.raw_ops` in two points: they
go through `dispatch`, so that sparse and ragged arguments reach their handlers, and they carry the public name.
"""

import inspect as _inspect

from weir.framework import dispatch as _dispatch
from weir.framework import raw_ops as _raw_ops


def __getattr__(op_name):
    if op_name.startswith("_"):
        raise AttributeError(op_name)
    op = getattr(_raw_ops, op_name)

    def call(*args, **kwargs):
        return op(*args, **kwargs)

    call.__name__ = call.__qualname__ = op_name
    call.__doc__ = op.__doc__
    try:
        call.__signature__ = _inspect.signature(op)
    except (TypeError, ValueError):
        pass
    function = _dispatch(call)
    globals()[op_name] = function
    return function
