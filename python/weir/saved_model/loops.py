"""Loops in SavedModels.

TensorFlow differentiates a While by its first two variables: one counts the iterations, the other is the most iterations
that it may make, -1 for any number. The engine needs neither, so loops get them when they are saved.
"""

__all__ = ["write"]

_INT32 = 3
_LOOPS = ("While", "StatelessWhile")


def write(library):
    """Adds the two variables to the loops of a library that lack them."""
    functions = {f.signature.name: f for f in library.function}
    changed = set()  # a body or condition may be that of several loops
    for function in library.function:
        for node in list(function.node_def):
            if node.op not in _LOOPS:
                continue
            body, cond = functions[node.attr["body"].func.name], functions[node.attr["cond"].func.name]
            if body.signature.name not in changed and _has_counter(body):
                continue
            for part in (body, cond):
                if part.signature.name not in changed:
                    changed.add(part.signature.name)
                    _add_arguments(part)
                    if part is body:
                        _add_results(part)
            _add_inputs(function, node)


def _has_counter(body):
    names = [a.name for a in body.signature.input_arg[:2]]
    return len(names) == 2 and names[0].endswith("loop_counter") and names[1].endswith("maximum_iterations")


def _free(function, name):
    taken = {n.name for n in function.node_def} | {a.name for a in function.signature.input_arg}
    made, count = name, 0
    while made in taken:
        count += 1
        made = f"{name}_{count}"
    return made


def _insert(repeated, values):
    """Puts messages before those of a repeated field."""
    after = [type(v).FromString(v.SerializeToString()) for v in repeated]
    del repeated[:]
    repeated.extend(values + after)


def _add_arguments(function):
    names = [_free(function, name) for name in ("while_loop_counter", "while_maximum_iterations")]
    kind = type(function.signature.input_arg.add())
    del function.signature.input_arg[-1]
    _insert(function.signature.input_arg, [kind(name=name, type=_INT32) for name in names])
    attributes = {i: a.SerializeToString() for i, a in function.arg_attr.items()}
    function.arg_attr.clear()
    for i, attribute in attributes.items():
        function.arg_attr[i + 2].ParseFromString(attribute)


def _add_constant(function, name, value):
    node = function.node_def.add(name=name, op="Const")
    node.attr["dtype"].type = _INT32
    node.attr["value"].tensor.dtype = _INT32
    node.attr["value"].tensor.tensor_shape.SetInParent()
    node.attr["value"].tensor.int_val.append(value)
    return f"{name}:output:0"


def _add_results(body):
    counter, limit = (a.name for a in body.signature.input_arg[:2])
    one = _add_constant(body, _free(body, "while_one"), 1)
    total = body.node_def.add(name=_free(body, "while_next"), op="AddV2", input=[counter, one])
    total.attr["T"].type = _INT32
    kind = type(body.signature.output_arg.add())
    del body.signature.output_arg[-1]
    results = ["result_loop_counter", "result_maximum_iterations"]
    _insert(body.signature.output_arg, [kind(name=name, type=_INT32) for name in results])
    body.ret[results[0]], body.ret[results[1]] = f"{total.name}:z:0", limit


def _add_inputs(function, node):
    prefix = f"{node.name}:output:"

    def moved(reference):
        return f"{prefix}{int(reference[len(prefix):]) + 2}" if reference.startswith(prefix) else reference
    for other in function.node_def:
        if any(i.startswith(prefix) for i in other.input):
            inputs = [moved(i) for i in other.input]
            del other.input[:]
            other.input.extend(inputs)
    for name, reference in list(function.ret.items()):
        function.ret[name] = moved(reference)
    first = [_add_constant(function, _free(function, f"{node.name}/loop_counter"), 0),
             _add_constant(function, _free(function, f"{node.name}/maximum_iterations"), -1)]
    inputs = first + list(node.input)
    del node.input[:]
    node.input.extend(inputs)
    types = [_INT32, _INT32, *node.attr["T"].list.type]
    del node.attr["T"].list.type[:]
    node.attr["T"].list.type.extend(types)
    for name in ("output_shapes", "_output_shapes"):
        shapes = node.attr[name].list.shape if name in node.attr else []
        if shapes:
            kind = type(shapes[0])
            _insert(shapes, [kind(), kind()])
