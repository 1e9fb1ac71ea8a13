"""What everything else in the package builds on.

The other modules import from here, never from the files below, so that the spelling of the seam is in one place:

    from weir.framework import Tensor, TensorSpec, convert_to_tensor, raw_ops, dispatch
"""

from weir import _core  # first: the hooks below give it what it needs
from weir.framework import errors
from weir.framework.config import device
from weir.framework.conversion import (constant, convert_n_to_tensor, convert_to_tensor, get_static_value, identity, is_symbolic, is_tensor,
                                       register_conversion,                                       register_tensor_conversion_function, static_shape_value)
from weir.framework.dispatch import dispatch, dispatch_for_api, dispatch_for_types, register_dispatch
from weir.framework.dtypes import DType, as_dtype
from weir.framework.graph import (Graph, Operation, control_dependencies, executing_eagerly, get_default_graph,
                                  init_scope, inside_function, name_scope)
from weir.framework.raw_ops import raw_ops
from weir.framework.shapes import Dimension, TensorShape
from weir.framework import indexed_slices, random_seed  # noqa: F401
from weir.framework.tensor import EagerTensor, SymbolicTensor, Tensor, types_Tensor
from weir.framework import operators, slicing  # noqa: F401 (they register themselves)
from weir.framework.type_spec import (BatchableTypeSpec, CompositeTensor, TensorSpec, TypeSpec, register_type_spec,
                                      type_spec_from_value)



def __getattr__(name):
    if name == "Variable":  # it is made of what is above
        from weir.variables import Variable
        return Variable
    if name == "trace_function":
        from weir.eager.function import trace_function
        return trace_function
    raise AttributeError(f"module 'weir.framework' has no attribute {name!r}")


# The name that TensorFlow's internals use for get_static_value.
constant_value = get_static_value
# A shape tensor's value as a TensorShape, as far as it is known.
constant_value_as_shape = static_shape_value
