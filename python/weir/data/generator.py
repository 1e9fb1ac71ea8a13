"""Datasets of Python generators: `Dataset.from_generator`.

The engine calls back into Python for each element, from threads of its own. A registry keeps the running generators by
number; a pass over the dataset starts one and drops it at its end.
"""

import itertools
import threading

import numpy as np

from weir.data import structure
from weir.data.dataset import Dataset, Function
from weir.framework import TensorShape, TensorSpec, TypeSpec, as_dtype, convert_to_tensor, raw_ops
from weir.ops import dtypes


class _Generators:
    """The generators in use."""

    def __init__(self, make):
        self._make = make
        self._running = {}
        self._numbers = itertools.count()
        self._lock = threading.Lock()

    def start(self, *args):
        """Starts one; its number."""
        iterator = iter(self._make(*args))
        with self._lock:
            number = next(self._numbers)
            self._running[number] = iterator
        return np.array(number, np.int64)

    def next(self, number):
        """The next element of a generator."""
        return next(self._running[int(number)])

    def stop(self, number):
        """Drops one."""
        with self._lock:
            self._running.pop(int(number), None)
        return np.array(int(number), np.int64)


def from_generator(generator, output_types=None, output_shapes=None, args=None, output_signature=None):
    """A dataset of what a generator yields, described by specs or by types and shapes."""
    if not callable(generator):
        raise TypeError("`generator` must be a Python callable.")
    if output_signature is None:
        if output_types is None:
            raise TypeError("Either `output_signature` or `output_types` must be specified.")
        if isinstance(output_types, list):
            output_types = tuple(output_types)
        if output_shapes is None:
            output_signature = structure.map_structure(lambda t: TensorSpec(None, as_dtype(t)), output_types)
        else:
            types = structure.flatten(output_types)
            shapes = _shapes_like(output_types, output_shapes)
            output_signature = structure.pack(output_types, [TensorSpec(s, as_dtype(t)) for s, t in zip(shapes, types)])
    elif output_types is not None or output_shapes is not None:
        raise TypeError("The `output_types` and `output_shapes` arguments can not be used together with the "
                        "`output_signature` argument.")
    if isinstance(output_signature, list):
        output_signature = tuple(output_signature)
    for leaf in structure.flatten(output_signature):
        if not isinstance(leaf, TypeSpec):
            raise TypeError("`output_signature` must contain objects that are subclass of `tf.TypeSpec` but found "
                            f"{type(leaf)} which is not.")
    args = tuple(convert_to_tensor(a) for a in (args or ()))
    generators = _Generators(generator)
    spec = output_signature
    flat = structure.flat_specs(spec)
    from weir.eager.py_function import py_function

    def start(*_):
        return py_function(lambda *a: generators.start(*[v.numpy() for v in a]), list(args), [dtypes.int64])[0]

    def produce(number):
        def step(n):
            value = generators.next(n.numpy())
            return _checked(spec, value)

        results = py_function(step, [number], [s.dtype for s in flat])
        for result, leaf in zip(results, flat):
            result.set_shape(leaf.shape)
        return tuple(results)

    def finish(number):
        return py_function(lambda n: generators.stop(n.numpy()), [number], [dtypes.int64])[0]

    number_spec = TensorSpec([], dtypes.int64)

    def one_pass(_):
        init = Function(start, None, use_autograph=False)
        step = Function(produce, number_spec, use_autograph=False)
        stop = Function(finish, number_spec, use_autograph=False)
        variant = raw_ops.GeneratorDataset(
            init_func_other_args=init.captures, next_func_other_args=step.captures,
            finalize_func_other_args=stop.captures, init_func=init.value, next_func=step.value,
            finalize_func=stop.value, **structure.types_and_shapes(spec))
        return Dataset(variant, spec)

    return Dataset.from_tensors(0).flat_map(one_pass)


def _shapes_like(types, shapes):
    if not structure.is_structure(types):
        return [TensorShape(shapes)]
    if isinstance(types, dict):
        return [s for key in sorted(types) for s in _shapes_like(types[key], shapes[key])]
    return [s for t, v in zip(types, shapes) for s in _shapes_like(t, v)]


def _checked(spec, value):
    """An element as flat tensors of the declared types, or an error that tells what differs."""
    if isinstance(value, list) and structure.is_structure(spec):
        value = tuple(value)
    leaves = structure.flatten(value) if structure.is_structure(spec) else [value]
    specs = structure.flatten(spec)
    if len(leaves) != len(specs):
        raise TypeError("`generator` yielded an element that did not match the expected structure. The expected structure "
                        f"was {structure.legacy_types(spec)}, but the yielded element was {value}.")
    out = []
    for leaf_spec, leaf in zip(specs, leaves):
        if isinstance(leaf_spec, TensorSpec):
            try:
                tensor = convert_to_tensor(leaf, dtype=leaf_spec.dtype)
            except (TypeError, ValueError) as error:
                raise TypeError("`generator` yielded an element that could not be converted to the expected type. The "
                                f"expected type was {leaf_spec.dtype.name}, but the yielded element was {leaf}.") from error
            if not leaf_spec.shape.is_compatible_with(tensor.shape):
                raise TypeError(f"`generator` yielded an element of shape {tensor.shape} where an element of shape "
                                f"{leaf_spec.shape} was expected.")
            out.append(tensor)
        else:
            out.extend(leaf_spec._to_tensor_list(leaf))
    return out
