"""Custom gradients in SavedModels.

In a library of weir's a node names the function of its gradient and has the tensors that this function takes from the
forward computation as further inputs (weir.eager.traced_gradient). TensorFlow's files name a type of gradient instead,
map it to a function, and list what that function captures among the objects of the model.
"""

import itertools

from weir import nest
from weir.eager import traced_gradient
from weir.framework import as_dtype
from weir.framework.raw_ops import raw_ops
from weir.framework.shapes import TensorShape
from weir.framework.type_spec import TensorSpec
from weir.saved_model import structures

__all__ = ["write", "read"]

_OWN = ("_gradient_function", "_gradient_captures", "_gradient_inputs")
_FUNCTIONS_OF = {"PartitionedCall": ["f"], "StatefulPartitionedCall": ["f"], "If": ["then_branch", "else_branch"],
                 "StatelessIf": ["then_branch", "else_branch"], "While": ["cond", "body"],
                 "StatelessWhile": ["cond", "body"], "Case": None, "StatelessCase": None}


def _split(reference):
    """The node of a function's tensor, the argument of its op's results and the place in it; an argument has none."""
    parts = reference.split(":")
    return (parts[0], None, 0) if len(parts) == 1 else (parts[0], parts[1], int(parts[2]))


# Into TensorFlow's form.

def write(library, graph, captured_object, is_wanted):
    """Turns the library of a MetaGraphDef into TensorFlow's form and describes the gradient functions in `graph`, a
    SavedObjectGraph. `captured_object(function, argument)` is the node of what a function captured, or None."""
    functions = {f.signature.name: f for f in library.function}
    known = {n.attr["_gradient_op_type"].s.decode() for f in library.function for n in f.node_def
             if "_gradient_op_type" in n.attr}
    kinds = (kind for kind in (f"CustomGradient-{i}" for i in itertools.count()) if kind not in known)
    taken = set()

    def origin(function, argument):
        """The object that an argument always is, whoever calls the function."""
        place = [a.name for a in function.signature.input_arg].index(argument)
        found = {captured_object(function.signature.name, place)}
        if found == {None}:
            found = {origin(caller, given) if ":" not in given else None
                     for caller, given in _given(library, function.signature.name, place)}
        return found.pop() if len(found) == 1 else None
    for function in list(library.function):
        for node in function.node_def:
            if is_wanted and "_gradient_op_type" in node.attr:
                _check_traced(node)
            if _OWN[0] not in node.attr:
                continue
            gradient = functions[node.attr[_OWN[0]].func.name]
            num_captures, places = node.attr[_OWN[1]].i, list(node.attr[_OWN[2]].list.i)
            for name in _OWN:
                del node.attr[name]
            kind = next(kinds)
            node.attr["_gradient_op_type"].s = kind.encode()
            captures = _take_captures(node, num_captures)
            if not is_wanted:
                continue
            if gradient.signature.name in taken:  # each node has captures of its own
                copy = library.function.add()
                copy.CopyFrom(gradient)
                copy.signature.name = f"{gradient.signature.name}_{kind[len('CustomGradient-'):]}"
                gradient = copy
            taken.add(gradient.signature.name)
            library.registered_gradients.add(gradient_func=gradient.signature.name, registered_op_type=kind)
            count = len(node.attr["T"].list.type)
            types = [a.type for a in gradient.signature.input_arg][count:]
            _describe(graph, gradient, count, places,
                      [_object(graph, function, *capture, origin) for capture in zip(captures, types)])


def _check_traced(node):
    error = traced_gradient.failures.get(node.attr["_gradient_op_type"].s.decode())
    if error is not None:
        raise ValueError(
            "The gradient function of a tf.custom_gradient cannot be saved, because tracing it failed. Change the function, "
            "or leave gradients out of the model with tf.saved_model.SaveOptions(experimental_custom_gradients=False).\n"
            f"Operation: {node.name}\nError: {type(error).__name__}: {error}") from error


def _given(library, name, place):
    """(caller, tensor) for each node that calls a function: what it hands over as the argument at a place."""
    for caller in library.function:
        for node in caller.node_def:
            if name in _called(node):
                first = 1 if node.op in ("If", "StatelessIf", "Case", "StatelessCase") else 0
                yield caller, node.input[place + first]


def _take_captures(node, count):
    data = [i for i in node.input if not i.startswith("^")]
    controls = [i for i in node.input if i.startswith("^")]
    kept = data[:len(data) - count]
    types = list(node.attr["T"].list.type)[:len(kept)]
    del node.input[:]
    node.input.extend(kept + controls)
    del node.attr["T"].list.type[:]
    node.attr["T"].list.type.extend(types)
    for name in ("_output_shapes", "_handle_dtypes", "_handle_shapes"):
        if name in node.attr:
            del node.attr[name]
    return data[len(data) - count:] if count else []


def _object(graph, function, reference, kind, origin):
    """The number of the object that stands for a tensor of a function's body."""
    name, output, index = _split(reference)
    if output is None:
        found = origin(function, name)
        if found is not None:
            return found
        place = 0
    else:
        op = next(n.op for n in function.node_def if n.name == name)
        outputs = _outputs(op)
        if outputs is None or len(outputs) == 1:  # a function's results are single tensors
            place = index
        else:  # results that are lists would shift those that follow: they have a node of their own
            place = 0
            name = _identity_of(function, reference, kind)
    for number, node in enumerate(graph.nodes):
        if node.HasField("captured_tensor") and node.captured_tensor.name == f"{name}:{place}" and \
                node.captured_tensor.concrete_function == function.signature.name:
            return number
    graph.nodes.add().captured_tensor.SetInParent()
    made = graph.nodes[-1].captured_tensor
    made.name, made.concrete_function = f"{name}:{place}", function.signature.name
    return len(graph.nodes) - 1


def _outputs(op):
    found = getattr(raw_ops, op, None)
    return None if found is None else list(found.outputs)


def _identity_of(function, reference, kind):
    name, output, index = _split(reference)
    made = f"{name}_captured_{output}_{index}"
    if all(n.name != made for n in function.node_def):
        function.node_def.add(name=made, op="Identity", input=[reference]).attr["T"].type = kind
    return made


def _describe(graph, gradient, count, places, captures):
    described = graph.concrete_functions[gradient.signature.name]
    described.bound_inputs.extend(captures)
    specs = [_spec(gradient, i) for i in range(count)]
    described.canonicalized_input_signature.CopyFrom(structures.encode(((None, *specs), {})))
    results = [None] * count
    for place, result in zip(places, gradient.signature.output_arg):
        results[place] = TensorSpec(TensorShape(None), as_dtype(result.type), result.name)
    described.output_signature.CopyFrom(structures.encode(results))


def _spec(function, i):
    argument = function.signature.input_arg[i]
    shape = TensorShape(None)
    if i in function.arg_attr and "_output_shapes" in function.arg_attr[i].attr:
        shape = structures.from_shape_proto(function.arg_attr[i].attr["_output_shapes"].list.shape[0])
    return TensorSpec(shape, as_dtype(argument.type), argument.name)


# Out of TensorFlow's form.

def read(library, graph):
    """Gives the nodes of a library their gradient functions. Functions may get further arguments, which `graph`, the
    SavedObjectGraph, then names as captures."""
    reader = _Reader(library, graph)
    registered = {g.registered_op_type.encode(): g.gradient_func for g in library.registered_gradients}
    for function in library.function:
        for node in function.node_def:
            kind = node.attr["_gradient_op_type"].s if "_gradient_op_type" in node.attr else None
            if kind in registered:
                reader.resolve(function, node, registered[kind])
    del library.registered_gradients[:]
    called = {f for n in graph.nodes for f in n.function.concrete_functions} | {
        n.bare_concrete_function.concrete_function_name for n in graph.nodes}
    for gradient in set(registered.values()) - called:  # they are part of the functions now
        if gradient in graph.concrete_functions:
            del graph.concrete_functions[gradient]


class _Unknown(Exception):
    """A capture that cannot be handed to the function that needs it."""


class _Reader:
    def __init__(self, library, graph):
        self.graph = graph
        self.functions = {f.signature.name: f for f in library.function}
        self.arguments = {}  # (function, what) -> the argument that was added for it

    def resolve(self, function, node, gradient_name):
        gradient = self.functions.get(gradient_name)
        described = self.graph.concrete_functions.get(gradient_name) if \
            gradient_name in self.graph.concrete_functions else None
        data = [i for i in node.input if not i.startswith("^")]
        if gradient is None or described is None or node.op != "IdentityN" or \
                len(gradient.signature.input_arg) != len(data) + len(described.bound_inputs):
            return
        results = structures.decode(described.output_signature)
        results = list(nest.flatten(results)) if isinstance(results, (list, tuple)) else [results]
        places = [i for i, result in enumerate(results) if result is not None]
        if len(results) != len(data) or len(places) != len(gradient.signature.output_arg):
            return
        types = [a.type for a in gradient.signature.input_arg][len(data):]
        try:
            captures = [self.find(function.signature.name, self.what(number), kind)
                        for number, kind in zip(described.bound_inputs, types)]
        except _Unknown:
            return
        controls = [i for i in node.input if i.startswith("^")]
        del node.input[:]
        node.input.extend(data + captures + controls)
        node.attr["T"].list.type.extend(types)
        del node.attr["_gradient_op_type"]
        if "_output_shapes" in node.attr:
            del node.attr["_output_shapes"]
        node.attr[_OWN[0]].func.name = gradient_name
        node.attr[_OWN[1]].i = len(captures)
        node.attr[_OWN[2]].list.i.extend(places)

    def what(self, number):
        node = self.graph.nodes[number]
        if node.HasField("captured_tensor"):
            return node.captured_tensor.concrete_function, node.captured_tensor.name
        return number

    def find(self, name, what, kind):
        """The tensor of a function's body that has a value: a tensor of a body, or an object of the model."""
        if isinstance(what, tuple) and what[0] == name:
            return self.reference(self.functions[name], what[1])
        if (name, what) in self.arguments:
            return self.arguments[name, what]
        if name in self.graph.concrete_functions and not isinstance(what, tuple):
            bound = list(self.graph.concrete_functions[name].bound_inputs)
            arguments = self.functions[name].signature.input_arg
            if what in bound:
                return arguments[len(arguments) - len(bound) + bound.index(what)].name
        self.add_argument(name, what, kind)
        return self.arguments[name, what]

    def add_argument(self, name, what, kind):
        """Gives a function a further argument, and with it those that one node may call in its place."""
        together, callers = {name}, []
        while True:
            callers = [(caller, node, called) for caller in self.functions.values() for node in caller.node_def
                       for called in [_called(node)] if together.intersection(called)]
            grown = together.union(*(called for _, _, called in callers))
            if grown == together:
                break
            together = grown
        if isinstance(what, tuple) and any(f in self.graph.concrete_functions for f in together):
            raise _Unknown  # a program may call it where that tensor is unknown
        for function in together:
            self.arguments[function, what] = self.free_name(self.functions[function])
            self.functions[function].signature.input_arg.add(name=self.arguments[function, what], type=kind)
            if function in self.graph.concrete_functions:
                self.graph.concrete_functions[function].bound_inputs.append(what)
        for caller, node, called in callers:
            found = self.find(caller.signature.name, what, kind)
            data = [i for i in node.input if not i.startswith("^")]
            controls = [i for i in node.input if i.startswith("^")]
            del node.input[:]
            node.input.extend(data + [found] + controls)
            if node.op in _FUNCTIONS_OF:
                node.attr["T" if _is_loop(node) else "Tin"].list.type.append(kind)
            if _is_loop(node):
                self.hand_on(self.functions[node.attr["body"].func.name], what, kind)
                if node.attr["output_shapes"].list.shape:
                    node.attr["output_shapes"].list.shape.add(unknown_rank=True)

    @staticmethod
    def free_name(function):
        taken = {n.name for n in function.node_def} | {a.name for a in function.signature.input_arg}
        return next(name for name in map("captured_by_gradient_{}".format, itertools.count()) if name not in taken)

    def hand_on(self, body, what, kind):
        """Makes the body of a loop return an argument as it is."""
        argument = self.arguments[body.signature.name, what]
        if f"result_{argument}" not in body.ret:
            body.signature.output_arg.add(name=f"result_{argument}", type=kind)
            body.ret[f"result_{argument}"] = argument

    @staticmethod
    def reference(function, tensor):
        name, index = tensor.rsplit(":", 1)
        if any(a.name == name for a in function.signature.input_arg):
            return name
        op = next((n.op for n in function.node_def if n.name == name), None)
        if op is None:
            raise _Unknown
        outputs = _outputs(op)
        if outputs is None:
            raise _Unknown
        if len(outputs) == 1:
            return f"{name}:{outputs[0]}:{index}"
        if int(index) >= len(outputs):
            raise _Unknown
        return f"{name}:{outputs[int(index)]}:0"


def _is_loop(node):
    return node.op in ("While", "StatelessWhile")


def _called(node):
    if node.op not in _FUNCTIONS_OF:
        return [node.op]
    if _FUNCTIONS_OF[node.op] is None:
        return [f.name for f in node.attr["branches"].list.func]
    return [node.attr[name].func.name for name in _FUNCTIONS_OF[node.op]]
