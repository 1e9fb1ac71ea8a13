"""tf.function: Python functions traced into graphs, one for each signature.

A call is keyed by the structure of its arguments, the types and shapes of tensors, and the values of everything else.
The first call with a key traces the Python function into a FuncGraph, which becomes a function of the runtime's library
(ConcreteFunction); later calls run that. Tensors from outside become further inputs (captures).
"""

import functools
import inspect
import itertools
import threading
import weakref

import numpy as np

from weir import _core
from weir.eager import python_gradients
from weir.eager import tape as tapes
from weir.eager import traced_gradient
from weir.eager.function_arguments import (Generalized, Keywords, Leaves, argument_names, in_user_code,
                                           is_nested, leaf_key, name_of, specs_of, structure_of)
from weir.eager.ownership import Ownership, live_functions
from weir.framework import config, errors
from weir.framework.conversion import convert_to_tensor
from weir.framework.graph import FuncGraph, Operation, tensor_handle_data
from weir.framework.tensor import Tensor
from weir.framework.type_spec import CompositeTensor, TensorSpec

__all__ = ["function", "Function", "GenericFunction", "ConcreteFunction", "trace_function"]

_names = itertools.count()
called_functions = None  # a list, while tf.summary notes which functions are called
remote_runner = None  # runs functions that use variables of parameter servers, where there are such


class _Tracing(threading.local):
    def __init__(self):
        self.stack = []  # (Function, list of variables made, may make some)


_tracing = _Tracing()


def note_variable_creation(variable):
    if not _tracing.stack:
        return
    _, created, allowed = _tracing.stack[-1]
    if not allowed:
        raise ValueError(
            "tf.function only supports singleton tf.Variables created on the first call. Make sure the tf.Variable is "
            "only created once or created outside tf.function. See https://www.tensorflow.org/guide/function#creating_"
            "tfvariables for more information.")
    created.append(variable)


def lift_initial_value(tensor):
    """The value of a tensor of a function that is traced, computed outside of it."""
    graph = tensor._graph
    arguments = {t._node for t in graph.inputs}
    seen, todo = set(), [tensor._node]
    while todo:
        node = todo.pop()
        if node in arguments:
            raise ValueError("The initial value of a variable made inside a tf.function depends on its arguments")
        if node not in seen:
            seen.add(node)
            todo.extend(t._node for t in graph._node_inputs(node))
    captures = [(outer, inner) for outer, inner in graph.captures if inner._node in seen]
    name, stateful = graph._to_function(f"initial_value_{next(_names)}", [inner for _, inner in captures], [tensor], True)
    _core.push_graph(None)
    try:
        call = _core.Call(name, stateful, [outer.dtype for outer, _ in captures], [tensor.dtype])
        value = call.run([outer for outer, _ in captures])[0]
    finally:
        _core.pop_graph()
    del call
    _core.remove_function(name, live_functions)
    return value


def _convert_outputs(graph, value):
    if value is None or isinstance(value, Operation):
        return None
    try:
        tensor = convert_to_tensor(value)
    except errors.InaccessibleTensorError:
        raise
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"To be compatible with tf.function, Python functions must return zero or more Tensors or ExtensionTypes or "
            f"None values; in compilation of {graph.name}, found return value of type {type(value).__name__}, which is "
            "not a Tensor or ExtensionType.") from error
    return graph.capture(tensor)


def trace(python_function, args, flat, specs, name, owner=None, may_create=False, created=None):
    """A FuncGraph of one call: `args` with its tensors replaced by arguments of the types `specs`."""
    from weir import nest
    graph = FuncGraph(name)
    graph._is_concrete = owner is not None
    _core.push_graph(graph)
    around = tapes.detach()
    if owner is not None:
        _tracing.stack.append((owner, created, may_create))
    try:
        inside, position = [], 0
        for value in flat:
            if isinstance(value, (Tensor, TensorSpec)):
                spec = specs[position]
                position += 1
                handle = tensor_handle_data(value) if isinstance(value, Tensor) else None
                inside.append(graph.add_argument(spec.dtype, spec.shape, spec.name, handle))
            else:
                inside.append(value)
        packed = nest.pack_sequence_as(args, inside, expand_composites=True) if is_nested(args) else tuple(inside)
        result = python_function(*packed)
        flat_result = nest.flatten(result, expand_composites=True)
        outputs = [_convert_outputs(graph, v) for v in flat_result]
        # Composite tensors are made of tensors of this graph, so it must be the current one.
        graph.structured_outputs = nest.pack_sequence_as(result, outputs, expand_composites=True) \
            if nest.is_nested(result) or isinstance(result, CompositeTensor) else (outputs[0] if outputs else None)
    finally:
        if owner is not None:
            _tracing.stack.pop()
        tapes.attach(around)
        _core.pop_graph()
    graph.outputs = [t for t in outputs if t is not None]
    graph._output_places = outputs
    graph._result = result
    return graph


class TracedBody:
    """A body for control flow: `captures` are tensors of the graph around, which `finish` makes inputs."""

    def __init__(self, graph):
        self._graph = graph
        self.graph = graph
        self.outputs = graph.outputs

    @property
    def captures(self):
        return self._graph.external_captures

    @property
    def stateful(self):
        return self._graph._has_effects()

    def finish(self, captures, return_captures=False):
        """The function's name; it takes its arguments, then `captures` in this order."""
        inner = [self._graph.capture(c) for c in captures]
        seen, own = set(), []
        for tensor in inner:  # a constant, or one that stands for two captures, still needs a place
            if tensor._id in seen or self._graph._node_op(tensor._node) != "_Arg":
                own.append(self._graph._placeholder(tensor.dtype, tensor.shape, None))
            else:
                own.append(tensor)
            seen.add(tensor._id)
        outputs = list(self._graph.outputs) + (own if return_captures else [])
        name, _ = self._graph._to_function(self._graph.name, self._graph.inputs + own, outputs)
        return name


def trace_function(body, signature, name="body"):
    """Traces `body` over tensors of the given TensorSpecs; it gives a list of tensors."""
    specs = list(signature)
    graph = FuncGraph(f"{name}_{next(_names)}")
    _core.push_graph(graph)
    around = tapes.detach()
    try:
        arguments = [graph.add_argument(s.dtype, s.shape, None, getattr(s, "_handle_data", None)) for s in specs]
        outputs = body(*arguments)
        outputs = [] if outputs is None else list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
        graph.outputs = [graph.capture(convert_to_tensor(t)) for t in outputs]
    finally:
        tapes.attach(around)
        _core.pop_graph()
    for variable in graph.variables:
        _note_in_outer(graph, variable)
    return TracedBody(graph)


def _note_in_outer(graph, variable):
    outer = graph.outer_graph
    if variable.trainable:
        tapes.variable_accessed(variable)
    elif outer is not None and outer.building_function:
        outer.watch_variable(variable)


class GenericFunction:
    """What tf.function returns."""


GenericFunction.__module__ = "tensorflow.python.types.core"


def _keep_alive(concrete, graph):
    """A graph that calls a function needs it for as long as it lives itself."""
    owned = False
    while graph is not None:
        if isinstance(graph, FuncGraph):
            graph._calls[id(concrete)] = concrete
            owned = owned or graph._is_concrete
        graph = getattr(graph, "outer_graph", None)
    if not owned and concrete._ownership is not None:
        concrete._ownership.give_up()  # a dataset's function, or a graph of sessions


class ConcreteFunction(GenericFunction):
    """One graph of a tf.function."""

    _ownership = None
    _gradient_of_python = None  # the gradient of a body that has gradients written in Python

    def __init__(self, graph, name, signature=None, python_function=None):
        self.graph = graph
        self._name, self._stateful = graph._to_function(name, graph.inputs + graph.internal_captures, graph.outputs)
        self._python_function = python_function
        self._captured = graph.external_captures
        inputs = graph.inputs + graph.internal_captures
        self._call = _core.Call(self._name, self._stateful, [t.dtype for t in inputs], [t.dtype for t in graph.outputs])
        self._variables = graph.variables
        self._trainable = graph.trainable_variables
        self._num_inputs = len(graph.inputs)
        self._signature = signature
        self._shapes = [t.shape for t in graph.outputs]
        self._arg_keywords = None
        self._structure_plan = None
        self._has_python_gradients = python_gradients.has_python_gradients(graph)

    name = property(lambda self: self._name.encode())
    _function_name = property(lambda self: self._name)
    inputs = property(lambda self: self.graph.inputs + self.graph.internal_captures)
    outputs = property(lambda self: self.graph.outputs)
    captured_inputs = property(lambda self: list(self._captured))
    variables = property(lambda self: self._variables)
    trainable_variables = property(lambda self: self._trainable)
    structured_outputs = property(lambda self: self.graph.structured_outputs)
    output_dtypes = property(lambda self: _map(self.structured_outputs, lambda t: t.dtype))
    output_shapes = property(lambda self: _map(self.structured_outputs, lambda t: t.shape))

    _python_signature = None  # of the function that was traced
    _argument_types = None  # its arguments, with specs for tensors

    @property
    def structured_input_signature(self):
        if self._signature is None:
            return (), {}
        return _with_keywords(*self._signature)

    @property
    def function_type(self):
        """What the function takes and gives, to be printed."""
        from weir.eager.function_type import of_concrete
        return of_concrete(self)

    def _typed_arguments(self):
        return self.structured_input_signature if self._argument_types is None else _with_keywords(self._argument_types, {})

    def run_flat(self, tensors):
        """The flat results of a call with these tensors."""
        if called_functions is not None:
            called_functions.append(self)
        if self._trainable and (tapes._TAPES or _core.current_graph() is not None):
            for variable in self._trainable:
                tapes.variable_accessed(variable)
        graph = _core.current_graph()
        if graph is not None and graph.building_function:
            for variable in self._variables:
                graph.watch_variable(variable)
        if graph is not None:
            _keep_alive(self, graph)
        elif tapes._TAPES and self._ownership is not None:
            self._ownership.give_up()  # the tape's functions for its gradient call the same bodies
        if remote_runner is not None and graph is None and self._captured:
            results = remote_runner(self, tensors)
            if results is not None:
                return results
        inputs = list(tensors) + self._captured if self._captured else tensors
        if self._has_python_gradients and (graph is not None or tapes._TAPES):
            return python_gradients.call(self, list(inputs))
        results = self._call.run(inputs)
        if graph is not None:
            for result, shape, inner in zip(results, self._shapes, self.graph.outputs):
                result.set_shape(shape)
                data = tensor_handle_data(inner)
                if data:
                    graph._set_handle_data(result._node, result._index, data)
        return results

    def pack(self, results):
        """Flat results in the structure that the Python function returned."""
        places = self.graph._output_places
        result = self.graph._result
        if len(places) == 1 and places[0] is not None and isinstance(result, Tensor):
            return results[0]
        from weir import nest
        flat = iter(results)
        values = [None if place is None else next(flat) for place in places]
        if not (nest.is_nested(result) or isinstance(result, CompositeTensor)):
            return values[0] if values else None
        return nest.pack_sequence_as(result, values, expand_composites=True)

    def _call_flat(self, args, captured_inputs=None):
        return self.pack(self.run_flat([convert_to_tensor(a) for a in args]))

    def __call__(self, *args, **kwargs):
        from weir import nest
        flat = nest.flatten(list(args), expand_composites=True)
        if kwargs:
            names = self._arg_keywords or []
            by_name = {name: value for name, value in kwargs.items()}
            for name in names[len(flat):]:
                if name in by_name:
                    flat.extend(nest.flatten(by_name.pop(name), expand_composites=True))
            if by_name and not names:
                for name in sorted(by_name):
                    flat.extend(nest.flatten(by_name[name], expand_composites=True))
            elif by_name:
                raise TypeError(f"{self._name} got unexpected keyword arguments: {', '.join(by_name)}.")
        tensors = []
        for value in flat:
            if isinstance(value, (Tensor, np.ndarray, np.generic)) or hasattr(value, "__tf_tensor__"):
                tensors.append(value)
            elif isinstance(value, (int, float, bool, str, bytes, complex)) and len(tensors) < self._num_inputs and \
                    len(flat) == self._num_inputs:
                tensors.append(value)
        if len(tensors) != self._num_inputs:
            raise TypeError(f"{self._name} takes {self._num_inputs} tensors but {len(tensors)} were given")
        own = self.graph.inputs
        tensors = [convert_to_tensor(t, own[i].dtype) if not isinstance(t, Tensor) else t for i, t in enumerate(tensors)]
        for i, tensor in enumerate(tensors):
            if tensor.dtype is not own[i].dtype:
                raise _wrong_type(self._name, i, own[i], tensor)
        return self.pack(self.run_flat(tensors))

    def pretty_printed_signature(self, verbose=True):
        return repr(self.function_type) if verbose else str(self.function_type)

    @property
    def function_def(self):
        """The definition, a FunctionDef."""
        from weir.internal.context import get_function_def
        return get_function_def(self._name)

    def add_to_graph(self, g=None, overwrite=False):
        """The graph keeps this function, so that nodes may name it."""
        graph = g if g is not None else _core.current_graph()
        if graph is not None:
            graph._store.setdefault("functions", []).append(self)

    def __repr__(self):
        return f"<ConcreteFunction {self.pretty_printed_signature(verbose=False)} at {id(self):#X}>"

    def __str__(self):
        return f"ConcreteFunction {self.pretty_printed_signature()}"


ConcreteFunction.__module__ = "tensorflow.python.eager.polymorphic_function.concrete_function"


def _with_keywords(args, kwargs):
    """(args, kwargs): arguments given by name are kept as the last positional one."""
    if args and isinstance(args[-1], Keywords):
        return args[:-1], dict(args[-1])
    return args, kwargs


def _wrong_type(name, i, expected, given):
    from weir.framework import errors
    from weir.framework.operators import kind_name
    return errors.InvalidArgumentError(None, None, f"cannot compute {name} as input #{i}(zero-based) was expected to be a "
                                       f"{kind_name(expected.dtype)} tensor but is a {kind_name(given.dtype)} tensor "
                                       f"[Op:{name}]")


def _map(structure, f):
    from weir import nest
    return nest.map_structure(lambda t: None if t is None else f(t), structure, expand_composites=True)


class Function(GenericFunction):
    """A Python function that is traced into graphs when it is called."""

    def __init__(self, python_function, name, input_signature=None, autograph=True, jit_compile=None,
                 reduce_retracing=False, experimental_autograph_options=None, experimental_implements=None,
                 experimental_attributes=None):
        self._python_function = python_function
        self._name = name
        self._autograph = autograph
        self._jit_compile = jit_compile
        self._reduce_retracing = reduce_retracing
        self._generalized = Generalized() if reduce_retracing else None
        self._input_signature = None if input_signature is None else tuple(input_signature)
        self._lock = threading.RLock()
        self._traces = {}  # (key, specs) -> ConcreteFunction
        self._of_tensors = {}  # signature of arguments that are all eager tensors -> ConcreteFunction
        self._by_key = {}  # key -> [(specs, ConcreteFunction)]
        self._created = None  # variables of the first call
        self._count = 0
        self._bound = weakref.WeakKeyDictionary()
        self._signature = None
        self._converted = None
        functools.update_wrapper(self, python_function, updated=())

    python_function = property(lambda self: self._python_function)
    input_signature = property(lambda self: self._input_signature)
    name = property(lambda self: self._name)
    function_spec = property(lambda self: self)
    _jit_compile_ = property(lambda self: self._jit_compile)

    @property
    def function_type(self):
        """What the function takes, to be printed."""
        from weir.eager.function_type import of_function
        return of_function(self._parameters(), self._input_signature)

    @property
    def fullargspec(self):
        return inspect.getfullargspec(self._python_function)

    def experimental_get_tracing_count(self):
        """How many times the Python function has been traced."""
        return self._count

    def _parameters(self):
        if self._signature is None:
            self._signature = inspect.signature(self._python_function)
        return self._signature

    def _bind(self, args, kwargs):
        """All arguments by position, defaults filled in; keywords that the function collects stay a dict."""
        signature = self._parameters()
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"Binding inputs to tf.function failed due to `{error}`. Received args: {tuple(args)} and "
                            f"kwargs: {kwargs} for signature: {self.function_type}.") from None
        if self._input_signature is None:
            bound.apply_defaults()
        return bound.args, bound.kwargs

    def __call__(self, *args, **kwargs):
        if config._settings["functions_eagerly"]:
            return self._python_function(*args, **kwargs)
        if kwargs:
            concrete, tensors = self._find(args, kwargs)
            return concrete.pack(concrete.run_flat(tensors))
        signature = _core.signature(args)
        concrete = self._of_tensors.get(signature)
        if concrete is None:
            concrete, args = self._find_noting(args, signature)
        return concrete.pack(concrete.run_flat(args))

    def _find_noting(self, args, signature):
        """The function for positional arguments; the next call with this signature finds it at once."""
        concrete, tensors = self._find(args, {})
        if signature is not None and len(tensors) == len(args) and all(a is b for a, b in zip(args, tensors)):
            if len(self._of_tensors) >= 1000:  # shapes may go on changing
                self._of_tensors.clear()
            self._of_tensors[signature] = concrete
        return concrete, tensors

    def _find(self, args, kwargs):
        if kwargs or self._signature is None or len(args) != len(self._signature.parameters):
            args, kwargs = self._bind(args, kwargs)
        if self._input_signature is not None:
            return self._find_by_signature(args, kwargs)
        if self._generalized is not None:
            args = self._generalized(args)
        leaves = Leaves(args if not kwargs else args + (Keywords(kwargs),))
        specs = tuple(leaves.specs)
        found = self._traces.get((leaves.key, specs))
        if found is not None:
            return found, leaves.tensors
        for general, concrete in self._by_key.get(leaves.key, ()):
            if all(spec.is_subtype_of(g) for spec, g in zip(specs, general)):
                return concrete, leaves.tensors
        return self._trace(leaves, specs, bool(kwargs)), leaves.tensors

    def _find_by_signature(self, args, kwargs):
        from weir import nest
        names = list(self._parameters().parameters)
        args = list(args)
        for name in names[len(args):]:
            if name in kwargs:
                args.append(kwargs.pop(name))
        if kwargs:
            raise TypeError(f"{self._name}: got unexpected keyword arguments {sorted(kwargs)}")
        specs = nest.flatten(self._input_signature, expand_composites=True)
        limit = len(self._input_signature)
        try:
            flat = [part for value in nest.flatten_up_to(list(self._input_signature), list(args[:limit]))
                    for part in (nest.flatten(value, expand_composites=True) if isinstance(value, CompositeTensor)
                                 else [value])]
        except (TypeError, ValueError):
            flat = nest.flatten(args[:limit], expand_composites=True)
        if len(flat) != len(specs):
            raise TypeError(f"Binding inputs to tf.function failed due to `missing a required argument`. Received args: "
                            f"{tuple(args)} and kwargs: {kwargs} for signature: {self._input_signature}.")
        tensors = []
        for value, spec in zip(flat, specs):
            try:
                tensor = convert_to_tensor(value, spec.dtype if not isinstance(value, Tensor) else None)
            except (TypeError, ValueError):
                raise TypeError(f"Binding inputs to tf.function failed due to `Can not cast {value!r} to {spec!r}`.") \
                    from None
            if not spec.is_compatible_with(tensor):
                raise TypeError(f"Binding inputs to tf.function failed due to `Can not cast "
                                f"{TensorSpec(tensor.shape, tensor.dtype)} to {spec}`. Received args: {tuple(args)} and "
                                f"kwargs: {kwargs} for signature: {self._signature_text()}.")
            tensors.append(tensor)
        return self._concrete_of_signature(), tensors

    def _signature_text(self):
        return str(self.function_type)

    def _concrete_of_signature(self):
        found = self._traces.get("signature")
        if found is None:
            from weir import nest
            args = tuple(nest.map_structure(lambda s: s, self._input_signature))
            flat = nest.flatten(args, expand_composites=True)
            names = list(self._parameters().parameters)
            specs = [TensorSpec(s.shape, s.dtype, s.name or name_of(names, i, flat, args)) for i, s in enumerate(flat)]
            found = self._make(args, flat, specs, False)
            found._signature = (tuple(self._input_signature), {})
            self._traces["signature"] = found
        return found

    def _trace(self, leaves, specs, has_keywords):
        with self._lock:
            if self._reduce_retracing:
                known = self._by_key.get(leaves.key)
                if known:
                    specs = tuple(spec.most_specific_common_supertype([g[i] for g, _ in known]) or spec
                                  for i, spec in enumerate(specs))
            flat_names = argument_names(self._parameters(), leaves.args)
            named = [TensorSpec(s.shape, s.dtype, n) for s, n in zip(specs, flat_names)] \
                if len(flat_names) == len(specs) else list(specs)
            concrete = self._make(leaves.args, leaves.flat, named, has_keywords)
            self._traces[(leaves.key, specs)] = concrete
            self._by_key.setdefault(leaves.key, []).append((specs, concrete))
            return concrete

    def _make(self, args, flat, specs, has_keywords):
        function = self._to_trace()
        if has_keywords:
            inner = function
            function = lambda *a: inner(*a[:-1], **a[-1])  # noqa: E731
        first = self._created is None
        created = []
        self._count += 1
        name = f"__inference_{self._name}_{next(_names)}"
        try:
            graph = trace(function, args, flat, specs, name, self, first, created)
        except Exception as error:
            if function is self._python_function:
                raise
            raise in_user_code(error) from None
        if first:
            self._created = created
            if created:
                # Variables are made by the first call only: the graph that is kept is traced without making any.
                self._count += 1
                graph = trace(function, args, flat, specs, name, self, False, [])
        concrete = ConcreteFunction(graph, name, python_function=self._python_function)
        concrete._ownership = Ownership(concrete._name, traced_gradient.functions_of(graph))
        concrete._arg_keywords = [s.name for s in specs]
        concrete._signature = (specs_of(args, specs), {})
        given = [v.name if isinstance(v, TensorSpec) else None for v in flat if isinstance(v, (Tensor, TensorSpec))]
        if len(given) == len(specs):
            concrete._argument_types = specs_of(args, [TensorSpec(s.shape, s.dtype, n) for s, n in zip(specs, given)])
        concrete._python_signature = self._parameters()
        return concrete

    def _to_trace(self):
        if not self._autograph:
            return self._python_function
        if self._converted is None:
            try:
                from weir import autograph
                convert = autograph.tf_convert
            except (ImportError, AttributeError):
                self._converted = self._python_function
            else:
                self._converted = convert(self._python_function)
        return self._converted

    def get_concrete_function(self, *args, **kwargs):
        """The graph for these arguments; tensors may be given as TensorSpecs."""
        from weir import nest
        if self._input_signature is not None and not args and not kwargs:
            return self._concrete_of_signature()
        if self._input_signature is not None:
            return self._concrete_of_signature()
        args, kwargs = self._bind(args, kwargs)
        if kwargs:
            args = args + (Keywords(kwargs),)
        flat = nest.flatten(args, expand_composites=True)
        specs, parts, keyed = [], [], []
        for value in flat:
            if isinstance(value, (TensorSpec,)):
                specs.append(value)
                parts.append(Tensor)
            elif isinstance(value, (Tensor, np.ndarray)):
                value = convert_to_tensor(value)
                specs.append(TensorSpec(value.shape, value.dtype))
                parts.append(Tensor)
            else:
                parts.append(leaf_key(value))
            keyed.append(value)
        key = (structure_of(args), tuple(parts))
        plain = tuple(TensorSpec(s.shape, s.dtype) for s in specs)
        found = self._traces.get((key, plain))
        asked = [s.name for s in specs]
        if found is not None and any(a is not None and a != k for a, k in zip(asked, found._arg_keywords or [])):
            plain, found = (*plain, *asked), self._traces.get((key, (*plain, *asked)))  # the names make a signature's
        elif found is None:  # a trace for more general types serves, too
            found = next((concrete for general, concrete in self._by_key.get(key, ())
                          if all(spec.is_subtype_of(g) for spec, g in zip(plain, general))), None)
        if found is None:
            with self._lock:
                names = argument_names(self._parameters(), args)
                named = [TensorSpec(s.shape, s.dtype, s.name or n) for s, n in zip(specs, names)] \
                    if len(names) == len(specs) else specs
                found = self._make(args, keyed, named, bool(kwargs))
                self._traces[(key, plain)] = found
                if len(plain) == len(specs):
                    self._by_key.setdefault(key, []).append((plain, found))
        return found

    def _list_all_concrete_functions(self):
        return list(dict.fromkeys(self._traces.values()))

    def _list_all_concrete_functions_for_serialization(self):
        if self._input_signature is not None:
            self._concrete_of_signature()
        return self._list_all_concrete_functions()

    def pretty_printed_concrete_signatures(self, verbose=True):
        return "\n\n".join(c.pretty_printed_signature(verbose) for c in self._list_all_concrete_functions())

    def _decorate(self, decorator):
        self._python_function = decorator(self._python_function)

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        try:
            bound = self._bound.get(instance)
        except TypeError:
            bound = instance.__dict__.get("_weir_bound_" + self._name) if hasattr(instance, "__dict__") else None
        if bound is None:
            weak = weakref.ref(instance)
            method = self._python_function

            @functools.wraps(method)
            def call(*args, **kwargs):
                return method(weak(), *args, **kwargs)
            signature = inspect.signature(method)
            call.__signature__ = signature.replace(parameters=list(signature.parameters.values())[1:])
            call.__wrapped_self__ = weak
            bound = Function(call, self._name, self._input_signature, self._autograph, self._jit_compile,
                             self._reduce_retracing)
            if self._autograph and self._to_trace() is not method:
                converted = self._to_trace()
                bound._converted = lambda *args, **kwargs: converted(weak(), *args, **kwargs)
            try:
                self._bound[instance] = bound
            except TypeError:
                if hasattr(instance, "__dict__"):
                    instance.__dict__["_weir_bound_" + self._name] = bound
        return bound

    def __repr__(self):
        return f"<tensorflow.python.eager.polymorphic_function.polymorphic_function.Function object at {id(self):#x}>"


Function.__module__ = "tensorflow.python.eager.polymorphic_function.polymorphic_function"


def function(func=None, input_signature=None, autograph=True, jit_compile=None, reduce_retracing=False,
             experimental_implements=None, experimental_autograph_options=None, experimental_attributes=None,
             experimental_relax_shapes=None, experimental_compile=None, experimental_follow_type_hints=None):
    """Makes a Python function one that runs as a graph. Usable as a decorator with and without arguments."""
    if experimental_relax_shapes:
        reduce_retracing = True

    def decorate(inner):
        name = getattr(inner, "__name__", None) or type(inner).__name__
        if isinstance(inner, functools.partial):
            name = getattr(inner.func, "__name__", "partial")
        return Function(inner, name.replace("<lambda>", "lambda_").strip("<>"), input_signature, autograph, jit_compile,
                        reduce_retracing)
    return decorate if func is None else decorate(func)
