"""Branches and loops over tensors: `cond`, `case`, `switch_case`, `while_loop`, `map_fn`, `scan`, folds.

Eagerly these are Python's own: the predicate is looked at and the chosen function is called. While a graph is built
each function is traced into a function of its own, and one `If`, `Case` or `While` op calls them. What a body uses
from outside becomes an input of the op; all branches of a conditional take the same inputs.
"""

import builtins

import weir.nest as nest
from weir import _core
from weir.framework import (TensorShape, TensorSpec, convert_to_tensor, errors, executing_eagerly, get_static_value,
                            is_tensor, raw_ops, trace_function)
from weir.framework.graph import control_flow_v2_enabled, name_scope
from weir.ops import array, dtypes, math
from weir.ops.tensor_array import TensorArray


class _Structure:
    """A structure of values and its tensors: arrays are their flow, composite values their components."""

    def __init__(self, value):
        self.value = value
        self.leaves = nest.flatten(value)

    def tensors(self):
        """All tensors of the structure; None where a leaf is None."""
        out = []
        for leaf in self.leaves:
            if leaf is None or _is_operation(leaf):
                continue
            if isinstance(leaf, TensorArray):
                out.append(leaf.flow)
            else:
                out.extend(convert_to_tensor(t) for t in nest.flatten(leaf, expand_composites=True))
        return out

    def pack(self, tensors):
        """The same structure with other tensors."""
        tensors = iter(tensors)
        leaves = []
        for leaf in self.leaves:
            if leaf is None or _is_operation(leaf):
                leaves.append(None)
            elif isinstance(leaf, TensorArray):
                leaves.append(leaf.with_flow(next(tensors)))
            elif not nest._is_composite(leaf):
                leaves.append(next(tensors))
            else:
                count = len(nest.flatten(leaf, expand_composites=True))
                parts = [next(tensors) for _ in range(count)]
                leaves.append(nest.pack_sequence_as(leaf, parts, expand_composites=True))
        return nest.pack_sequence_as(self.value, leaves)


def _is_operation(value):
    return type(value).__name__ == "Operation"


def _with_wide_indices(leaf):
    """Slices with 64-bit indices: those of another branch may have them."""
    from weir.ops.indexed_slices import IndexedSlices
    if not isinstance(leaf, IndexedSlices):
        return leaf
    wide = lambda t: t if t is None or t.dtype == "int64" else raw_ops.Cast(x=t, DstT="int64")  # noqa: E731
    return IndexedSlices(leaf.values, wide(leaf.indices), wide(leaf.dense_shape))


class _Branch:
    """A traced function without arguments."""

    def __init__(self, function, name):
        self.structure = None

        def body():
            self.structure = _Structure(nest.map_structure(_with_wide_indices, function()))
            return self.structure.tensors()

        self.traced = trace_function(body, [], name=name)


def _union(traced):
    """The captured tensors of several bodies, each once."""
    seen, result = set(), []
    for body in traced:
        for tensor in body.captures:
            if tensor._id not in seen:
                seen.add(tensor._id)
                result.append(tensor)
    return result


def _check_branches(branches):
    first = branches[0]
    for other in branches[1:]:
        a, b = first.structure.tensors_count(), other.structure.tensors_count()
        try:
            nest.assert_same_structure(_skeleton(first.structure.value), _skeleton(other.structure.value),
                                       check_types=False)
        except (TypeError, ValueError) as error:
            raise TypeError("true_fn and false_fn arguments to tf.cond must have the same number, type, and overall "
                            f"structure of return values: {error}") from None
        if a != b:
            raise TypeError("The branches return different numbers of tensors")
        for x, y in zip(first.traced.outputs, other.traced.outputs):
            if x.dtype != y.dtype:
                raise TypeError("true_fn and false_fn arguments to tf.cond must have the same number, type, and "
                                f"overall structure of return values. Got {x.dtype.name} and {y.dtype.name}")


def _skeleton(value):
    return nest.map_structure(lambda leaf: None if leaf is None or _is_operation(leaf) else 0, value)


_Structure.tensors_count = lambda self: len([v for v in self.leaves if v is not None and not _is_operation(v)])


def _common_shape(shapes):
    result = shapes[0]
    for shape in shapes[1:]:
        if result.rank is None or shape.rank is None or result.rank != shape.rank:
            return TensorShape(None)
        result = TensorShape([a if a == b else None for a, b in zip(result.as_list(), shape.as_list())])
    return result


def _run_branches(branches, emit, name):
    """Calls `emit(op arguments)` for traced branches and packs its outputs as the first branch returned them."""
    _check_branches(branches)
    captures = _union([b.traced for b in branches])
    functions = [b.traced.finish(captures) for b in branches]
    outputs = branches[0].traced.outputs
    shapes = [_common_shape([b.traced.outputs[i].shape for b in branches]) for i in range(len(outputs))]
    stateful = any(b.traced.stateful for b in branches)
    results = emit(captures, [t.dtype for t in outputs], functions, shapes, stateful, name)
    if not outputs:
        return branches[0].structure.pack([]) if branches[0].structure.leaves else results
    results = [results] if is_tensor(results) else list(results)
    return branches[0].structure.pack(results)


def cond(pred, true_fn=None, false_fn=None, name=None):
    """Calls `true_fn` if `pred` holds, else `false_fn`; both must return the same structure of tensors."""
    if not callable(true_fn):
        raise TypeError("'true_fn' must be callable.")
    if not callable(false_fn):
        raise TypeError("'false_fn' must be callable.")
    if executing_eagerly():
        return true_fn() if pred else false_fn()
    if isinstance(pred, builtins.bool):
        raise TypeError("pred must not be a Python bool")
    pred = convert_to_tensor(pred, name="pred")
    branches = [_Branch(true_fn, "cond_true"), _Branch(false_fn, "cond_false")]

    def emit(captures, types, functions, shapes, stateful, op_name):
        op = raw_ops.If if stateful else raw_ops.StatelessIf
        return op(cond=pred, input=captures, Tout=types, then_branch=functions[0], else_branch=functions[1],
                  output_shapes=shapes, name=op_name or "cond")

    return _run_branches(branches, emit, name)


def smart_cond(pred, true_fn, false_fn, name=None):
    """As `cond`, deciding at once where the predicate is known."""
    if isinstance(pred, builtins.bool):
        return true_fn() if pred else false_fn()
    if isinstance(pred, int) and pred in (0, 1):
        return true_fn() if pred else false_fn()
    if is_tensor(pred):
        value = get_static_value(pred)
        if value is not None:
            return true_fn() if value else false_fn()
    return cond(pred, true_fn, false_fn, name)


def switch_case(branch_index, branch_fns, default=None, name="switch_case"):
    """Calls the function with the number `branch_index`; `default`, or the last one, for numbers out of range."""
    if isinstance(branch_fns, dict):
        pairs = list(branch_fns.items())
    else:
        pairs = list(branch_fns)
        if pairs and not isinstance(pairs[0], (tuple, list)):
            pairs = list(enumerate(pairs))
    if not pairs:
        raise ValueError("Argument `branch_fns` must be non-empty")
    for index, function in pairs:
        if not isinstance(index, int):
            raise TypeError(f"key must be a Python `int`, got {type(index)}")
        if not callable(function):
            raise TypeError(f"fn for key {index} must be callable.")
    functions = [f for _, f in sorted(pairs, key=lambda p: p[0])]
    if sorted(i for i, _ in pairs) != list(range(len(pairs))):
        raise ValueError(f"branch indices must form contiguous range of [0 to {len(pairs)}) but found "
                         f"{{{sorted(i for i, _ in pairs)}}}")
    if default is not None:
        functions.append(default)
    if executing_eagerly():
        index = int(branch_index)
        return functions[index if 0 <= index < len(functions) else -1]()
    branches = [_Branch(f, f"switch_case_{i}") for i, f in enumerate(functions)]
    index = array.cast(convert_to_tensor(branch_index), dtypes.int32)

    def emit(captures, types, bodies, shapes, stateful, op_name):
        op = raw_ops.Case if stateful else raw_ops.StatelessCase
        return op(branch_index=index, input=captures, Tout=types, branches=bodies, output_shapes=shapes, name=op_name)

    return _run_branches(branches, emit, name)


def case(pred_fn_pairs, default=None, exclusive=False, strict=False, name="case"):
    """Calls the function of the first predicate that holds, `default` if none does."""
    del strict
    pairs = list(pred_fn_pairs.items()) if isinstance(pred_fn_pairs, dict) else list(pred_fn_pairs)
    pairs = [(p.deref() if hasattr(p, "deref") else p, f) for p, f in pairs]
    if not pairs:
        raise ValueError("pred_fn_pairs must be a non-empty list")
    for _, function in pairs:
        if not callable(function):
            raise TypeError("Each function of `pred_fn_pairs` must be callable")
    if executing_eagerly():
        holding = [f for p, f in pairs if bool(p)]
        if exclusive and len(holding) > 1:
            raise errors.InvalidArgumentError(None, None, "Input error: exclusive=True: more than 1 conditions evaluated "
                                              "as True but exclusive=True.")
        if holding:
            return holding[0]()
        if default is None:
            raise errors.InvalidArgumentError(None, None, "None of the conditions evaluated as True.")
        return default()
    if default is None:
        *pairs, (_, default) = pairs
        if not pairs:
            return default()
    result = default
    for predicate, function in reversed(pairs):
        result = (lambda p=predicate, f=function, rest=result: cond(p, f, rest, name=name))
    return result()


def _loop_shapes(structure, shape_invariants, tensors):
    if shape_invariants is None:
        return [t.shape for t in tensors]
    shapes = []
    for invariant, leaf in zip(nest.flatten_up_to(structure.value, shape_invariants) if nest.is_nested(structure.value)
                               else [shape_invariants], structure.leaves):
        if hasattr(invariant, "_component_specs") and not isinstance(invariant, TensorShape):
            shapes.extend(s.shape for s in nest.flatten(invariant._component_specs))
        elif isinstance(leaf, TensorArray):
            shapes.append(TensorShape([]))
        else:
            count = len(nest.flatten(leaf, expand_composites=True))
            shapes.extend([TensorShape(getattr(invariant, "shape", invariant))] * count)
    return shapes


def while_loop(cond, body, loop_vars, shape_invariants=None, parallel_iterations=10, back_prop=True, swap_memory=False,  # pylint: disable=redefined-outer-name
               maximum_iterations=None, name=None):
    """Calls `body(*loop_vars)` while `cond(*loop_vars)` holds; the loop variables are what it last returned."""
    del back_prop, swap_memory
    if not callable(cond):
        raise TypeError("'cond' must be callable.")
    if not callable(body):
        raise TypeError("'body' must be callable.")
    if parallel_iterations < 1:
        raise TypeError("'parallel_iterations' must be a positive integer.")
    if not nest.is_nested(loop_vars) and not isinstance(loop_vars, (list, tuple)):
        loop_vars = (loop_vars,)
    if not loop_vars:
        raise ValueError("'loop_vars' must be provided.")
    single = len(loop_vars) == 1 and isinstance(loop_vars, (list, tuple))
    call = lambda function, values: function(*values)  # noqa: E731
    if executing_eagerly():
        return _eager_while(cond, body, loop_vars, maximum_iterations, single, call)
    structure = _Structure(loop_vars)
    tensors = structure.tensors()
    shapes = _loop_shapes(structure, shape_invariants, tensors)
    structure = _Structure(structure.pack(tensors))
    limited = maximum_iterations is not None
    signature = [TensorSpec(s, t.dtype) for s, t in zip(shapes, tensors)]
    if limited:
        limit = array.cast(convert_to_tensor(maximum_iterations), dtypes.int32)
        tensors = [array.constant(0)] + tensors
        signature = [TensorSpec([], dtypes.int32)] + signature
        shapes = [TensorShape([])] + shapes
    returned = None

    def traced_cond(*flat):
        values = flat[1:] if limited else flat
        result = convert_to_tensor(call(cond, structure.pack(values)))
        if result.shape.rank is not None and result.shape.rank != 0:
            result = array.reshape(result, [])
        return [raw_ops.LogicalAnd(x=flat[0] < limit, y=result) if limited else result]

    def traced_body(*flat):
        nonlocal returned
        values = flat[1:] if limited else flat
        results = call(body, structure.pack(values))
        returned = results if nest.is_nested(results) else [results]
        if single and not _is_single(results):
            results = type(loop_vars)([results]) if not hasattr(loop_vars, "_fields") else type(loop_vars)(results)
        try:
            nest.assert_same_structure(_skeleton(structure.value), _skeleton(results), check_types=False)
        except (TypeError, ValueError) as error:
            raise ValueError(f"The two structures don't have the same nested structure: {error}") from None
        out = _Structure(results).tensors()
        out = _checked_outputs(out, signature[1:] if limited else signature)
        return ([flat[0] + 1] if limited else []) + out

    body_trace = trace_function(traced_body, signature, name="while_body")
    cond_trace = trace_function(traced_cond, signature, name="while_cond")
    captures = _union([cond_trace, body_trace])
    op = raw_ops.While if body_trace.stateful or cond_trace.stateful else raw_ops.StatelessWhile
    results = op(input=tensors + captures, cond=cond_trace.finish(captures),
                 body=body_trace.finish(captures, return_captures=True),
                 output_shapes=shapes + [c.shape for c in captures], parallel_iterations=parallel_iterations,
                 name=name or "while")
    results = [results] if is_tensor(results) else list(results)
    packed = structure.pack(results[1 if limited else 0:len(tensors)])
    graph = _core.current_graph()
    if control_flow_v2_enabled() or graph.building_function:
        return packed
    return nest.pack_sequence_as(returned, nest.flatten(packed))  # loops of TensorFlow 1 return what the body does


def _is_single(results):
    return isinstance(results, (list, tuple)) and len(results) == 1


def _checked_outputs(outputs, signature):
    result = []
    for value, spec in zip(outputs, signature):
        if value.dtype != spec.dtype:
            raise TypeError(f"A loop variable of type {spec.dtype.name} became {value.dtype.name} in the body")
        if not spec.shape.is_compatible_with(value.shape) or _more_general(value.shape, spec.shape):
            raise ValueError(f"Input tensor enters the loop with shape {spec.shape}, but has shape {value.shape} after "
                             "one iteration. To allow the shape to vary across iterations, use the `shape_invariants` "
                             "argument of tf.while_loop to specify a less-specific shape.")
        result.append(value)
    return result


def _more_general(value, declared):
    if declared.rank is None:
        return False
    if value.rank is None:
        return True
    return any(d is not None and v is None for v, d in zip(value.as_list(), declared.as_list()))


def _eager_while(cond, body, loop_vars, maximum_iterations, single, call):  # pylint: disable=redefined-outer-name
    kind = type(loop_vars)
    iterations = 0
    limit = None if maximum_iterations is None else int(maximum_iterations)
    loop_vars = nest.map_structure(lambda v: v if v is None or isinstance(v, TensorArray) or nest._is_composite(v)
                                   else convert_to_tensor(v), loop_vars)
    while bool(call(cond, loop_vars)):
        if limit is not None and iterations >= limit:
            break
        results = call(body, loop_vars)
        if single and not (isinstance(results, (list, tuple)) and len(results) == 1):
            results = kind([results])
        nest.assert_same_structure(_skeleton(loop_vars), _skeleton(results), check_types=False)
        loop_vars = nest.pack_sequence_as(results, [
            v if v is None or isinstance(v, TensorArray) or nest._is_composite(v) else convert_to_tensor(v)
            for v in nest.flatten(results)])
        iterations += 1
    return loop_vars


# Functions over the first dimension.


def _element_count(flat, refusal="elems must be a 1+ dimensional Tensor, not a scalar"):
    known = None
    for value in flat:
        shape = value.shape
        if shape.rank == 0:
            raise ValueError(refusal)
        if shape.rank is not None and shape[0] is not None:
            if known is not None and known != shape[0]:
                raise ValueError(f"All elements must have the same first dimension, got {known} and {shape[0]}")
            known = shape[0]
    first = flat[0]
    if known is not None:
        return known
    return first.nrows() if hasattr(first, "nrows") else array.shape(first)[0]


def _is_ragged(value):
    return type(value).__name__ == "RaggedTensor"


def _is_sparse(value):
    return type(value).__name__ == "SparseTensor"


def _prepare(elems):
    """The leaves of `elems` as things that have a first dimension."""
    leaves = []
    for leaf in nest.flatten(elems):
        if _is_ragged(leaf) or _is_sparse(leaf):
            leaves.append(leaf)
        else:
            leaves.append(convert_to_tensor(leaf, name="elem"))
    if not leaves:
        raise ValueError("elems must be a Tensor or (possibly nested) sequence of Tensors. Got {}, which does not contain "
                         "any Tensors.".format(elems))
    return leaves


def _element_reader(leaf):
    """A function from an index to the element of a leaf."""
    if _is_sparse(leaf):
        from weir.ops import sparse
        return lambda i: sparse.row(leaf, i)
    if _is_ragged(leaf):
        return lambda i: leaf[i]
    if executing_eagerly():
        parts = array.unstack(leaf)
        return lambda i: parts[int(i)]
    items = TensorArray(leaf.dtype, size=array.shape(leaf)[0], infer_shape=False,
                        element_shape=leaf.shape[1:]).unstack(leaf)
    return items.read


def _stack_results(values, rows_differ=False):
    if _is_ragged(values[0]) or rows_differ and values[0].shape.rank != 0:
        from weir.ops import ragged
        return ragged.stack(values)
    if _is_sparse(values[0]):
        from weir.ops import sparse
        return sparse.concat(0, [sparse.expand_dims(v, 0) for v in values])
    return array.stack(values)


def map_fn(fn, elems, dtype=None, parallel_iterations=None, back_prop=True, swap_memory=False, infer_shape=True,
           name=None, fn_output_signature=None):
    """Applies `fn` to each element along the first dimension of `elems` and stacks the results.

    `fn_output_signature` describes what `fn` returns where its types differ from those of `elems`.
    """
    del back_prop, swap_memory
    if fn_output_signature is None:
        fn_output_signature = dtype
    if not callable(fn):
        raise TypeError(f"The provided function {getattr(fn, '__name__', fn)} is not callable. fn must be callable.")
    leaves = _prepare(elems)
    count = _element_count(leaves, "Elements in elems must be 1+ dimensional Tensors, not scalars")
    readers = [_element_reader(leaf) for leaf in leaves]
    element = lambda i: nest.pack_sequence_as(elems, [read(i) for read in readers])  # noqa: E731
    if executing_eagerly() and int(count) > 0:
        results = [fn(element(i)) for i in range(int(count))]
        return _stack_structures(results, fn_output_signature, elems)
    with name_scope(name or "map"):
        return _graph_map(fn, elems, leaves, count, element, fn_output_signature, parallel_iterations or 10, infer_shape,
                          None)


def _stack_structures(results, signature, elems):
    model = results[0]
    if signature is not None:
        nest.assert_same_structure(_signature_skeleton(signature), _skeleton(model), check_types=False)
        types = [getattr(s, "dtype", s) for s in nest.flatten(signature)]
        rows_differ = [type(s).__name__ == "RaggedTensorSpec" for s in nest.flatten(signature)]
    else:
        types = [None if not hasattr(leaf, "dtype") else leaf.dtype for leaf in _prepare(elems)]
        rows_differ = [_is_ragged(leaf) for leaf in _prepare(elems)]
        if len(types) != len(nest.flatten(model)):
            raise ValueError("The two structures don't have the same nested structure: `fn` returned "
                             f"{_skeleton(model)}; pass fn_output_signature")
    flat = [nest.flatten(r) for r in results]
    stacked = []
    for i, kind in enumerate(types):
        values = [row[i] for row in flat]
        if not (_is_ragged(values[0]) or _is_sparse(values[0])):
            values = [convert_to_tensor(v, dtype_hint=kind) for v in values]
            if kind is not None and values[0].dtype != _dtype(kind):
                raise errors.InvalidArgumentError(
                    None, None, f"TensorArray dtype is {_dtype(kind).name} but Op is trying to write dtype "
                    f"{values[0].dtype.name} ")
        stacked.append(_stack_results(values, rows_differ[i]))
    return nest.pack_sequence_as(model, stacked)


def _dtype(kind):
    from weir.framework import as_dtype
    return as_dtype(kind)


def _signature_skeleton(signature):
    return nest.map_structure(lambda _: 0, signature)


def _graph_map(fn, elems, leaves, count, element, signature, parallel_iterations, infer_shape, name):
    specs = (nest.flatten(signature) if signature is not None else
             [TensorSpec(None, leaf.dtype) if not _is_ragged(leaf) else leaf._type_spec._unbatch() for leaf in leaves])
    specs = [s if hasattr(s, "value_type") else TensorSpec(None, _dtype(s)) for s in specs]
    encoders = [_Encoder(spec) for spec in specs]
    count = convert_to_tensor(count, dtype=dtypes.int32) if not is_tensor(count) else array.cast(count, dtypes.int32)
    arrays = [TensorArray(e.dtype, size=count, infer_shape=infer_shape, element_shape=e.shape) for e in encoders]
    box = []

    def body(i, *outputs):
        result = fn(element(i))
        if not box:
            box.append(result)
        flat = nest.flatten(result)
        if len(flat) != len(encoders):
            raise ValueError("The two structures don't have the same nested structure: `fn` returned "
                             f"{len(flat)} values where {len(encoders)} were expected")
        return (i + 1,) + tuple(o.write(i, e.encode(v)) for o, e, v in zip(outputs, encoders, flat))

    results = while_loop(lambda i, *_: i < count, body, (array.constant(0),) + tuple(arrays),
                         parallel_iterations=parallel_iterations, name=name)
    stacked = []
    known = get_static_value(count)
    for output, encoder in zip(results[1:], encoders):
        value = encoder.decode(output.stack())
        if known is not None and is_tensor(value) and hasattr(value, "set_shape") and not executing_eagerly():
            value.set_shape(TensorShape([int(known)]).concatenate(value.shape[1:]) if value.shape.rank else
                            TensorShape(None))
        stacked.append(value)
    model = box[0] if box else (signature if signature is not None else elems)
    return nest.pack_sequence_as(model, stacked)


class _Encoder:
    """Values of a spec as tensors of one shape: ragged ones travel as variants."""

    def __init__(self, spec):
        self.spec = spec
        self.ragged = type(spec).__name__ == "RaggedTensorSpec"
        self.dtype = dtypes.variant if self.ragged else spec.dtype
        self.shape = TensorShape([]) if self.ragged else spec.shape

    def encode(self, value):
        """One value."""
        if not self.ragged:
            return convert_to_tensor(value, dtype=self.dtype)
        from weir.ops import ragged
        return ragged.to_variant(value, self.spec)

    def decode(self, stacked):
        """All values, stacked."""
        if not self.ragged:
            return stacked
        from weir.ops import ragged
        return ragged.from_variant(stacked, self.spec)


def vectorized_map(fn, elems, fallback_to_while_loop=True, warn=True):
    """As `map_fn`; an element whose first dimension is 1 is used for all. Runs element by element."""
    del fallback_to_while_loop, warn
    leaves = [convert_to_tensor(e) for e in nest.flatten(elems)]
    sizes = [leaf.shape[0] for leaf in leaves if leaf.shape.rank]
    known = [s for s in sizes if s is not None and s != 1]
    count = known[0] if known else (1 if sizes and all(s == 1 for s in sizes) else None)
    if any(k != count for k in known):
        raise ValueError(f"All elements must have the same first dimension or 1, got {sizes}")
    if count is None:
        count = math.reduce_max(array.stack([array.shape(leaf)[0] for leaf in leaves]))
    repeated = []
    for leaf in leaves:
        if leaf.shape[0] == 1 and count != 1:
            leaf = array.repeat(leaf, count, axis=0)
        repeated.append(leaf)
    packed = nest.pack_sequence_as(elems, repeated)
    # The types of the results are found by tracing one call.
    signature = None
    if not executing_eagerly():
        box = []

        def probe(*flat):
            box.append(nest.map_structure(convert_to_tensor, fn(nest.pack_sequence_as(elems, flat))))
            return nest.flatten(box[0])

        trace_function(probe, [TensorSpec(r.shape[1:], r.dtype) for r in repeated], name="vectorized_map")
        signature = nest.map_structure(lambda v: TensorSpec(v.shape, v.dtype), box[0])
        return map_fn(fn, packed, fn_output_signature=signature)
    results = [fn(nest.pack_sequence_as(elems, [leaf[i] for leaf in repeated])) for i in range(int(count))]
    if not results:
        raise ValueError("vectorized_map over no elements needs a graph")
    return nest.map_structure(lambda *values: array.stack([convert_to_tensor(v) for v in values]), *results)


def _fold(fn, elems, initializer, backward, parallel_iterations, name):
    if not callable(fn):
        raise TypeError(f"{getattr(fn, '__name__', fn)} is not callable. Please provide a callable function.")
    leaves = _prepare(elems)
    count = _element_count(leaves)
    readers = [_element_reader(leaf) for leaf in leaves]
    element = lambda i: nest.pack_sequence_as(elems, [read(i) for read in readers])  # noqa: E731
    first = initializer is None
    if first:
        accumulated = element(count - 1 if backward else 0)
    else:
        accumulated = nest.map_structure(convert_to_tensor, initializer)
    steps = count - (1 if first else 0)
    start = count - 1 - (1 if first else 0) if backward else (1 if first else 0)
    step = -1 if backward else 1

    def body(k, value):
        return k + 1, fn(value, element(start + k * step))

    _, result = while_loop(lambda k, _: k < steps, body, (array.constant(0), accumulated),
                           parallel_iterations=parallel_iterations, name=name)
    return result


def foldl(fn, elems, initializer=None, parallel_iterations=10, back_prop=True, swap_memory=False, name=None):
    """Folds `fn(accumulated, element)` over the first dimension from the front."""
    del back_prop, swap_memory
    return _fold(fn, elems, initializer, False, parallel_iterations, name)


def foldr(fn, elems, initializer=None, parallel_iterations=10, back_prop=True, swap_memory=False, name=None):
    """Folds `fn(accumulated, element)` over the first dimension from the back."""
    del back_prop, swap_memory
    return _fold(fn, elems, initializer, True, parallel_iterations, name)


def scan(fn, elems, initializer=None, parallel_iterations=10, back_prop=True, swap_memory=False, infer_shape=True,
         reverse=False, name=None):
    """As `foldl` (or `foldr` if `reverse`), returning all accumulated values stacked."""
    del back_prop, swap_memory
    if not callable(fn):
        raise TypeError(f"{getattr(fn, '__name__', fn)} is not callable. Please provide a callable function.")
    leaves = _prepare(elems)
    count = _element_count(leaves)
    readers = [_element_reader(leaf) for leaf in leaves]
    element = lambda i: nest.pack_sequence_as(elems, [read(i) for read in readers])  # noqa: E731
    first = initializer is None
    accumulated = element(count - 1 if reverse else 0) if first else nest.map_structure(convert_to_tensor, initializer)
    flat = [convert_to_tensor(v) for v in nest.flatten(accumulated)]
    arrays = [TensorArray(v.dtype, size=count, infer_shape=infer_shape, element_shape=v.shape if infer_shape else None,
                          clear_after_read=False) for v in flat]
    if first:
        place = count - 1 if reverse else 0
        arrays = [a.write(place, v) for a, v in zip(arrays, flat)]
    begin = 1 if first else 0

    def body(k, value, outputs):
        i = count - 1 - k if reverse else k
        value = fn(value, element(i))
        nest.assert_same_structure(_skeleton(accumulated), _skeleton(value), check_types=False)
        results = nest.flatten(value)
        return k + 1, value, [o.write(i, r) for o, r in zip(outputs, results)]

    _, _, outputs = while_loop(lambda k, *_: k < count, body, (array.constant(begin), accumulated, arrays),
                               parallel_iterations=parallel_iterations, name=name)
    return nest.pack_sequence_as(accumulated, [o.stack() for o in outputs])
