"""What rewritten functions call: each operator runs Python unless a symbolic tensor makes it part of a graph."""

import builtins

import numpy as np

import weir.nest as nest
from weir.framework import CompositeTensor, SymbolicTensor, TensorSpec, convert_to_tensor, is_tensor, trace_function
from weir.ops import array, control_flow, dtypes, math
from weir.ops.tensor_array import TensorArray


class Undefined:
    """The value of a variable before its first assignment. Using it is the error that Python would raise."""

    __slots__ = ("symbol_name",)

    def __init__(self, name):
        object.__setattr__(self, "symbol_name", name)

    def _raise(self, *_, **__):
        raise UnboundLocalError(f"'{self.symbol_name}' is used before assignment")

    __getattr__ = _raise
    __call__ = __getitem__ = __len__ = __iter__ = __bool__ = _raise
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __lt__ = __gt__ = _raise

    def __repr__(self):
        return f"<undefined {self.symbol_name}>"


class UndefinedReturnValue(Undefined):
    """What a function returns that ends without a return."""

    __slots__ = ()

    def __init__(self):
        super().__init__("return value")


def returned(value):
    """The value of a function's single return."""
    return None if isinstance(value, UndefinedReturnValue) else value


def load_attribute(getter, name):
    """The value of an attribute, or Undefined if there is none yet."""
    try:
        return getter()
    except (AttributeError, UnboundLocalError):
        return Undefined(name)


def _is_symbolic(value):
    return isinstance(value, SymbolicTensor)


def _tensor_like(value):
    """Whether a value can travel through a graph."""
    return (is_tensor(value) or isinstance(value, (bool, int, float, complex, str, bytes, np.ndarray, np.generic,
                                                    TensorArray, CompositeTensor)) or _is_variable(value))


def _is_variable(value):
    return hasattr(value, "handle") and hasattr(value, "assign")


def _is_state(value):
    """Structures of tensors are state; other objects must be the same on all ways."""
    if value is None or isinstance(value, Undefined):
        return False
    leaves = nest.flatten(value)
    return bool(leaves) and all(_tensor_like(leaf) for leaf in leaves) and not _is_variable(value)


# Expressions.


def and_(a, b):
    """`a and b`; `b` is a function and called if needed."""
    left = a()
    if _is_symbolic(left):
        return control_flow.cond(left, lambda: convert_to_tensor(b()), lambda: array.identity(left))
    return left and b()


def or_(a, b):
    """`a or b`."""
    left = a()
    if _is_symbolic(left):
        return control_flow.cond(left, lambda: array.identity(left), lambda: convert_to_tensor(b()))
    return left or b()


def not_(a):
    """`not a`."""
    if _is_symbolic(a):
        return math.equal(a, False) if a.dtype == dtypes.bool else _logical_not(a)
    return not a


def _logical_not(a):
    from weir.framework import raw_ops
    return raw_ops.LogicalNot(x=a)


def if_exp(test, then, otherwise):
    """`then if test else otherwise`."""
    if not _is_symbolic(test):
        return then() if test else otherwise()
    results = []

    def noting(branch):
        results.append(branch())
        return results[-1]
    try:
        return control_flow.cond(_predicate(test), lambda: noting(then), lambda: noting(otherwise))
    except TypeError:
        if len(results) == 2 and (results[0] is None) != (results[1] is None):
            raise ValueError("A conditional expression is None at the end of the "
                             f"{'main' if results[0] is None else 'else'} branch.") from None
        raise


def assert_stmt(test, message):
    """`assert test, message`."""
    if _is_symbolic(test):
        import weir.debugging as debugging
        debugging.Assert(test, [message() if message is not None else "Assertion failed"])
        return
    if message is None:
        assert test
    else:
        assert test, message()


def _predicate(test):
    if test.dtype != dtypes.bool:
        raise ValueError("condition of if statement expected to be `tf.bool` scalar, got " + str(test) +
                         "; to use as boolean Tensor, use `tf.cast`; to check for None, use `is not None`")
    return test


# Statements.


def if_stmt(test, then, otherwise, get_state, set_state, names, live):
    """An `if` statement."""
    if not _is_symbolic(test):
        (then if test else otherwise)()
        return
    initial = get_state()
    boxes = []

    def branch(body, label):
        def run():
            set_state(initial)
            body()
            values = get_state()
            boxes.append((label, values))
            return [v if _is_state(v) else None for v in values]

        return run

    # Both branches are traced once to see which variables they define, then as one conditional.
    results = _cond(_predicate(test), branch(then, "main"), branch(otherwise, "else"), boxes, names, live, initial)
    set_state(results)


def _cond(test, then, otherwise, boxes, names, live, initial):
    """A conditional over variables: those that one branch leaves undefined are dropped, or refused if used later."""
    probes = []
    for body in (then, otherwise):
        del boxes[:]
        trace_function(lambda body=body: [t for t in _tensors(body())], [], name="autograph_probe")
        probes.append(boxes[-1][1])
    keep = []
    fixed, stand_in = {}, {}
    for i, (name, a, b) in enumerate(zip(names, *probes)):
        a_undefined, b_undefined = isinstance(a, Undefined), isinstance(b, Undefined)
        if a_undefined and b_undefined:
            fixed[i] = initial[i]
        elif a_undefined or b_undefined:
            if name == "ag_value":
                # A return inside of a loop: until it happens zeros stand for the value, which the flag hides.
                made = b if a_undefined else a
                if not _is_state(made):
                    raise ValueError("A value must also be returned from the "
                                     f"{'main' if a_undefined else 'else'} branch. If a value is returned from one "
                                     "branch of a conditional a value must be returned from all branches.")
                stand_in[i] = made
                keep.append(i)
            elif live[i]:
                branch = "main" if a_undefined else "else"
                raise ValueError(f"'{name}' must also be initialized in the {branch} branch")
            else:
                fixed[i] = Undefined(name)
        elif _is_state(a) and _is_state(b):
            keep.append(i)
        elif a is b or (a is None and b is None):
            fixed[i] = a
        elif a is None or b is None:
            branch = "main" if a is None else "else"
            if name == "ag_value":
                raise ValueError(f"the {branch} branch must also have a return statement.")
            raise ValueError(f"'{name}' is None at the end of the {branch} branch.")
        elif a is not initial[i] and b is not initial[i] and type(a) is not type(b):
            raise TypeError(f"'{name}' must have the same type in both branches, got {type(a).__name__} and "
                            f"{type(b).__name__}")
        else:
            fixed[i] = b
    for i in keep:
        if i not in stand_in:
            _check_types(names[i], probes[0][i], probes[1][i])
    try:
        results = control_flow.cond(test, lambda: _kept(then(), keep, stand_in),
                                    lambda: _kept(otherwise(), keep, stand_in))
    except TypeError as error:
        raise TypeError(f"in the variables {[_shown(names[i]) for i in keep]} of an `if` over a tensor: {error}") from error
    values = list(initial)
    for i, value in fixed.items():
        values[i] = value
    for i, value in zip(keep, results or []):
        values[i] = value
    return tuple(values)


def _shown(name):
    """A variable as errors name it."""
    return "retval_" if name == "ag_value" else name


def _check_types(name, main, other):
    """Raises if the leaves of a variable have other types in the one branch than in the other."""
    pairs = [[t.dtype if is_tensor(t) else convert_to_tensor(t).dtype for leaf in nest.flatten(value)
              if not isinstance(leaf, TensorArray) for t in nest.flatten(leaf, expand_composites=True)]
             for value in (main, other)]
    for a, b in zip(*pairs):
        if a != b:
            raise TypeError(f"'{_shown(name)}' has dtype {a.name} in the main branch, but dtype {b.name} in the else branch")


def _kept(values, keep, stand_in):
    """The variables that a conditional returns."""
    result = []
    for i in keep:
        value = values[i]
        if value is None and i in stand_in:
            value = nest.map_structure(lambda t: array.zeros(convert_shape(t), t.dtype), stand_in[i])
        result.append(_only([value])[0])
    return result


def convert_shape(tensor):
    """The shape of a value that stands for one of the same type: unknown dimensions become 1."""
    return [1 if d is None else d for d in tensor.shape.as_list()] if tensor.shape.rank is not None else []


def _only(values):
    return [nest.map_structure(lambda leaf: leaf if isinstance(leaf, (TensorArray, CompositeTensor)) else
                               convert_to_tensor(leaf), v) if v is not None else None for v in values]


def _tensors(values):
    out = []
    for value in values:
        for leaf in nest.flatten(value):
            if isinstance(leaf, TensorArray):
                out.append(leaf.flow)
            elif leaf is not None:
                out.extend(convert_to_tensor(t) for t in nest.flatten(leaf, expand_composites=True))
    return out


def while_stmt(test, body, get_state, set_state, names, live, options=None):
    """A `while` statement."""
    if options is None:
        options = dict(_loop_options.pop()) if _loop_options else {}
    initial = get_state()
    first = test()
    if not _is_symbolic(first):
        while True:
            if not first:
                return
            body()
            first = test()
            if _is_symbolic(first):
                while_stmt(test, body, get_state, set_state, names, live, options)
                return
    set_state(initial)
    _graph_loop(test, body, get_state, set_state, names, live, options or {})


_loop_options = []


def _graph_loop(test, body, get_state, set_state, names, live, options):
    """A loop in a graph over those variables that are tensors."""
    initial = list(get_state())
    initial, keep = _loop_state(initial, body, get_state, set_state, names, live)
    fixed = {i: v for i, v in enumerate(initial) if i not in keep}

    def restore(values):
        full = [None] * len(names)
        for i, v in fixed.items():
            full[i] = v
        for i, v in zip(keep, values):
            full[i] = v
        set_state(tuple(full))

    def graph_test(*values):
        restore(values)
        return test()

    def graph_body(*values):
        restore(values)
        body()
        after = get_state()
        result = []
        for i, value in enumerate(after):
            if i not in keep:
                continue
            if isinstance(value, Undefined) or value is None:
                raise ValueError(f"'{names[i]}' is {'None' if value is None else 'undefined'} at the end of the iteration.")
            result.append(_matched(value, initial[i], names[i]))
            if i not in free:
                _check_shapes(result[-1], entering[i], names[i])
        return result

    chosen = [_only([initial[i]])[0] for i in keep]
    entering, free = dict(zip(keep, chosen)), set()
    invariants = None
    for name_value, shape in options.get("shape_invariants", []):
        if invariants is None:
            invariants = [_shape_of(v) for v in chosen]
        for position, i in enumerate(keep):
            if initial[i] is name_value:
                invariants[position] = shape
                free.add(i)
    counter = array.constant(0)
    if not chosen:
        # Nothing but effects: a counter keeps the loop's form.
        control_flow.while_loop(lambda i: graph_test(), lambda i: (graph_body(), i + 1)[1:], (counter,))
        return
    results = control_flow.while_loop(graph_test, graph_body, chosen, shape_invariants=invariants,
                                      parallel_iterations=options.get("parallel_iterations", 10),
                                      maximum_iterations=options.get("maximum_iterations"))
    restore(results)


def _check_shapes(after, before, name):
    """Raises if a loop variable may get a shape that the one it came with does not allow."""
    for new, old in zip(nest.flatten(after), nest.flatten(before)):
        if is_tensor(new) and is_tensor(old) and not _is_subshape(new.shape, old.shape):
            raise ValueError(f"'{name}' has shape {old.shape} before the loop, but shape {new.shape} after one iteration. Use "
                             "tf.autograph.experimental.set_loop_options to set shape invariants.")


def _is_subshape(shape, general):
    if general.rank is None:
        return True
    return shape.rank == general.rank and all(g is None or d == g for d, g in zip(shape.as_list(), general.as_list()))


def _shape_of(value):
    return nest.map_structure(lambda t: getattr(t, "shape", None), value)


def _matched(value, initial, name):
    """`value` as the loop variable's type: Python numbers become tensors of it."""

    def convert(new, old):
        if isinstance(new, (TensorArray, CompositeTensor)):
            return new
        old = convert_to_tensor(old)
        if not is_tensor(new):
            return convert_to_tensor(new, dtype=old.dtype)
        if new.dtype != old.dtype:
            raise TypeError(f"'{name}' has dtype {old.dtype.name} before the loop, but dtype {new.dtype.name} after one "
                            "iteration")
        return new

    try:
        return nest.map_structure(convert, value, initial, check_types=False)
    except ValueError as error:
        raise TypeError(f"'{name}' does not have the same nested structure after one iteration.\n\n{error}") from error


def _described(value):
    """The spec of a value that a probe of the body made, which does not outlive the probe."""
    if isinstance(value, (TensorArray, CompositeTensor)):
        return value
    tensor = convert_to_tensor(value)
    return TensorSpec(tensor.shape, tensor.dtype)


def _loop_state(initial, body, get_state, set_state, names, live):
    """Values for variables that the loop itself defines, and the indices of those that the loop carries."""
    needed = [i for i, v in enumerate(initial) if live[i] and (v is None or isinstance(v, Undefined))]
    if needed:
        # What the body would assign: a value of the same type and shape stands in before the first iteration.
        found = {}

        def probe():
            set_state(tuple(initial))
            body()
            after = get_state()
            for i in needed:
                found[i] = nest.map_structure(_described, after[i]) if _is_state(after[i]) else after[i]
            return _tensors([v for v in after if _is_state(v)])

        try:
            trace_function(probe, [], name="autograph_probe")
        except UnboundLocalError as error:
            raise ValueError(f"{error} in a loop over tensors") from error
        for i in needed:
            value = found.get(i)
            if isinstance(value, Undefined):
                continue
            if value is None:
                continue
            if not all(isinstance(leaf, TensorSpec) for leaf in nest.flatten(value)):
                if initial[i] is None:
                    continue
                raise ValueError(f"'{names[i]}' must be defined before the loop.")

            def placeholder(spec, name=names[i]):
                if not spec.shape.is_fully_defined():
                    raise ValueError(f"'{name}' must be defined before the loop, since its shape is not known")
                return array.zeros(spec.shape, spec.dtype)

            initial[i] = nest.map_structure(placeholder, value)
        set_state(tuple(initial))
    keep = [i for i, v in enumerate(initial) if _is_state(v)]
    return initial, keep


def for_stmt(iterated, test, body, get_state, set_state, names, live):
    """A `for` statement over anything that can be iterated."""
    options = dict(_loop_options.pop()) if _loop_options else {}
    if _is_symbolic(iterated):
        _for_tensor(iterated, test, body, get_state, set_state, names, live, options)
        return
    if isinstance(iterated, _TensorRange):
        _for_range(iterated, test, body, get_state, set_state, names, live, options)
        return
    from weir.framework import executing_eagerly
    if not executing_eagerly():
        if _is_dataset(iterated):
            iterated = iter(iterated)
        if _is_iterator(iterated):
            _for_iterator(iterated, test, body, get_state, set_state, names, live, options)
            return
        if type(iterated).__name__ == "RaggedTensor":
            _for_ragged(iterated, test, body, get_state, set_state, names, live, options)
            return
    if test is None:
        for item in iterated:
            body(item)
        return
    for item in iterated:
        if _is_symbolic(test()):
            raise NotImplementedError("break and return by a tensor need a loop over tensors: iterate over tf.range or a "
                                      "tensor instead of a Python sequence")
        if not test():
            break
        body(item)
        if not _is_symbolic(test()) and not test():
            break


def _is_dataset(value):
    from weir.data.dataset import Dataset
    return isinstance(value, Dataset)


def _is_iterator(value):
    from weir.data.iterator import OwnedIterator
    return isinstance(value, OwnedIterator)


def _counted(count, item, test, body, get_state, set_state, names, live, options):
    """A loop with a counter in a graph; `item(i)` is what the body gets."""
    box = [None]

    def counted_test():
        more = box[0] < count
        return more if test is None else and_(lambda: more, test)

    def counted_body():
        body(item(box[0]))
        box[0] = box[0] + 1

    def get():
        return (box[0],) + tuple(get_state())

    def put(values):
        box[0] = values[0]
        set_state(tuple(values[1:]))

    box[0] = array.constant(0, dtype=count.dtype)
    _graph_loop(counted_test, counted_body, get, put, ("the counter",) + tuple(names), (True,) + tuple(live), options)


def _for_tensor(tensor, test, body, get_state, set_state, names, live, options):
    known = tensor.shape[0] if tensor.shape.rank else None
    if tensor.shape.rank == 0:
        raise ValueError("cannot iterate over a scalar tensor")
    count = array.constant(known) if known is not None else array.shape(tensor)[0]
    items = TensorArray(tensor.dtype, size=count, infer_shape=False, element_shape=tensor.shape[1:]).unstack(tensor)
    _counted(count, items.read, test, body, get_state, set_state, names, live, options)


def _for_ragged(ragged, test, body, get_state, set_state, names, live, options):
    _counted(ragged.nrows(), lambda i: ragged[i], test, body, get_state, set_state, names, live, options)


class _TensorRange:
    """`range` of tensors."""

    def __init__(self, start, stop, step):
        self.start, self.stop, self.step = start, stop, step


def _for_range(span, test, body, get_state, set_state, names, live, options):
    values = array.range(span.start, span.stop, span.step)
    _for_tensor(values, test, body, get_state, set_state, names, live, options)


def _for_iterator(iterator, test, body, get_state, set_state, names, live, options):
    """Takes elements while there are any."""
    box = [None]

    def has_more():
        more = box[0].has_value()
        return more if test is None else and_(lambda: more, test)

    def step():
        body(box[0].get_value())
        box[0] = iterator.get_next_as_optional()

    def get():
        return (box[0],) + tuple(get_state())

    def put(values):
        box[0] = values[0]
        set_state(tuple(values[1:]))

    box[0] = iterator.get_next_as_optional()
    _graph_loop(has_more, step, get, put, ("the element",) + tuple(names), (True,) + tuple(live), options)


def set_loop_options(parallel_iterations=None, swap_memory=None, maximum_iterations=None, shape_invariants=None):
    """Options of the loop in whose body (or just before which) this is called."""
    options = {}
    if parallel_iterations is not None:
        options["parallel_iterations"] = parallel_iterations
    if maximum_iterations is not None:
        options["maximum_iterations"] = maximum_iterations
    if shape_invariants is not None:
        options["shape_invariants"] = list(shape_invariants)
    del swap_memory
    _loop_options[:] = [options] if options else []


# Builtins that know tensors.


def range_(start, stop=None, step=None):
    """`range`."""
    if any(is_tensor(v) for v in (start, stop, step)):
        if stop is None:
            start, stop = 0, start
        step = 1 if step is None else step
        if any(_is_symbolic(v) for v in (start, stop, step)):
            return _TensorRange(start, stop, step)
        return builtins.range(*(int(v) for v in (start, stop, step)))
    return builtins.range(*[v for v in (start, stop, step) if v is not None])


def len_(value):
    """`len`."""
    if isinstance(value, TensorArray):
        return value.size()
    if _is_symbolic(value):
        if value.shape.rank == 0:
            raise ValueError("len requires a non-zero rank tensor")
        return value.shape[0] if value.shape.rank and value.shape[0] is not None else array.shape(value)[0]
    return builtins.len(value)


def int_(value=0, *base):
    """`int`."""
    if _is_symbolic(value):
        from weir.ops import strings
        return strings.to_number(value, dtypes.int32) if value.dtype == dtypes.string else array.cast(value, dtypes.int32)
    return builtins.int(value, *base)


def float_(value=0.0):
    """`float`."""
    if _is_symbolic(value):
        from weir.ops import strings
        return strings.to_number(value, dtypes.float32) if value.dtype == dtypes.string else array.cast(value, dtypes.float32)
    return builtins.float(value)


def abs_(value):
    """`abs`."""
    return math.abs(value) if is_tensor(value) else builtins.abs(value)


def enumerate_(value, start=0):
    """`enumerate`."""
    return value.enumerate(start) if _is_dataset(value) else builtins.enumerate(value, start)


def zip_(*values, **options):
    """`zip`."""
    if values and all(_is_dataset(v) for v in values):
        return type(values[0]).zip(values)
    return builtins.zip(*values, **options)


def map_(function, *values):
    """`map`."""
    if values and all(_is_dataset(v) for v in values):
        return (values[0] if len(values) == 1 else type(values[0]).zip(values)).map(function)
    return builtins.map(callable_(function), *values)


def any_(value):
    """`any`."""
    return math.reduce_any(value) if _is_symbolic(value) else builtins.any(value)


def all_(value):
    """`all`."""
    return math.reduce_all(value) if _is_symbolic(value) else builtins.all(value)


BUILTINS = {range: range_, len: len_, int: int_, float: float_, abs: abs_, enumerate: enumerate_,
            zip: zip_, map: map_, any: any_, all: all_}


def callable_(function):
    """What a rewritten call calls: the converted function, or the function itself where it must not be converted."""
    try:
        replaced = BUILTINS.get(function)
    except TypeError:
        replaced = None
    if replaced is not None:
        return replaced
    from weir.autograph import conversion
    return conversion.for_call(function)


