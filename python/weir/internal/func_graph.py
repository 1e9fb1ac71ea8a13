"""tensorflow.python.framework.func_graph: graphs of functions, made from Python functions by hand."""

from weir import _core, nest
from weir.framework import CompositeTensor, Tensor, TensorSpec, convert_to_tensor
from weir.framework.graph import FuncGraph, Operation
from weir.variables import Variable

__all__ = ["FuncGraph", "UnknownArgument", "dismantle_func_graph", "flatten", "func_graph_from_py_func"]


class UnknownArgument:
    """Stands for an argument that is no tensor."""


def flatten(sequence):
    """The tensors of a structure, composite ones as their parts."""
    return nest.flatten(sequence, expand_composites=True)


def pack_sequence_as(structure, flat_sequence):
    return nest.pack_sequence_as(structure, flat_sequence, expand_composites=True)


def dismantle_func_graph(func_graph):
    del func_graph  # memory is freed without


def func_graph_from_py_func(name, python_func, args, kwargs, signature=None, func_graph=None,
                            add_control_dependencies=True, arg_names=None, op_return_value=None, collections=None,
                            capture_by_value=None, create_placeholders=True):
    """A FuncGraph of what `python_func` computes of tensors like `args` and `kwargs`."""
    del add_control_dependencies
    graph = func_graph if func_graph is not None else FuncGraph(name, collections=collections,
                                                                capture_by_value=capture_by_value)
    if signature is not None:
        args, kwargs = signature, {}
    kwargs = kwargs or {}
    _core.push_graph(graph)
    try:
        names = list(arg_names or [])

        def argument(value, given):
            if isinstance(value, TensorSpec):
                return graph.add_argument(value.dtype, value.shape, value.name or given)
            if isinstance(value, Tensor):
                return graph.add_argument(value.dtype, value.shape, given)
            return value

        def arguments(value, given):
            flat = nest.flatten(value, expand_composites=True)
            return nest.pack_sequence_as(value, [argument(part, given) for part in flat], expand_composites=True)

        if create_placeholders:
            args = [arguments(value, names[i] if i < len(names) else None) for i, value in enumerate(args)]
            kwargs = {key: arguments(value, key) for key, value in kwargs.items()}
        graph.inputs = [value for value in nest.flatten((list(args), kwargs), expand_composites=True)
                        if isinstance(value, Tensor)]
        results = python_func(*args, **kwargs)

        def output(value):
            if isinstance(value, Operation) and op_return_value is not None:
                return op_return_value
            if value is None or isinstance(value, CompositeTensor) and not isinstance(value, Variable):
                return value
            try:
                return graph.capture(convert_to_tensor(value))
            except (ValueError, TypeError):
                raise TypeError("To be compatible with tf.function, Python functions must return zero or more Tensors or "
                                "ExtensionTypes or None values; in compilation of "
                                f"{python_func}, found return value of type {type(value).__name__}, which is not a Tensor "
                                "or ExtensionType.") from None

        results = nest.map_structure(output, results)
        graph.structured_outputs = results
        graph.outputs = [graph.capture(value) for value in nest.flatten(results, expand_composites=True) if value is not None]
    finally:
        _core.pop_graph()
    return graph
