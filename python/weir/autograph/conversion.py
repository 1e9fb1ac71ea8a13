"""Finds the source of a function, converts it once, and keeps the result by code object."""

import ast
import functools
import inspect
import linecache
import os
import types
import weakref

from weir.autograph import context, operators, transformer

_SKIPPED = ("weir", "tensorflow", "keras", "numpy", "builtins", "collections", "functools", "contextlib", "threading",
            "re", "math", "random", "copy", "pickle", "inspect", "tensorboard", "google", "absl", "six", "pdb", "typing",
            "itertools", "operator", "logging", "os", "sys", "time", "abc", "enum", "unittest", "tensorflow_datasets")
_cache = {}
_trees = {}
_converted = weakref.WeakSet()


def _tree(filename):
    lines = linecache.getlines(filename)
    if not lines:
        return None
    key = (filename, hash(tuple(lines)))
    if key not in _trees:
        _trees[key] = "".join(lines)
    try:
        return ast.parse(_trees[key])
    except SyntaxError:
        return None


def _find(function):
    """The syntax tree of a function, or None where there is no source."""
    code = function.__code__
    tree = _tree(code.co_filename)
    if tree is None:
        return None
    line = code.co_firstlineno
    if code.co_name == "<lambda>":
        found = [n for n in ast.walk(tree) if isinstance(n, ast.Lambda) and n.lineno == line]
        if len(found) > 1:
            spans = [(a, c, b, d) for a, b, c, d in code.co_positions() if None not in (a, b, c, d) and d > 0]
            found = [n for n in found if spans and all(
                (n.body.lineno, n.body.col_offset) <= (a, c) and (b, d) <= (n.body.end_lineno, n.body.end_col_offset)
                for a, c, b, d in spans)]
            found.sort(key=lambda n: (n.body.end_lineno, n.body.end_col_offset, -n.body.col_offset))
            # Of nested lambdas the outermost that starts like the code does.
            same = [n for n in found if [a.arg for a in n.args.args] == list(code.co_varnames[:code.co_argcount])]
            found = same[:1] or found[:1]
        return found[0] if found else None
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
            first = min([node.lineno] + [d.lineno for d in node.decorator_list])
            if first == line:
                return node
    return None


def _compile(function):
    """The converted code object of a function, or None."""
    code = function.__code__
    if code in _cache:
        return _cache[code]
    node = _find(function)
    result = None
    if node is not None and not any(isinstance(n, (ast.Yield, ast.YieldFrom, ast.Await)) for n in ast.walk(node)
                                    if not isinstance(n, (ast.FunctionDef, ast.Lambda)) or n is node):
        converted = transformer.transform_function(node)
        name = converted.name
        parameters = ["ag__"] + [v for v in code.co_freevars if v != "ag__"]
        # Defaults and annotations belong to the function that exists: only the code is taken.
        converted.args.defaults = []
        converted.args.kw_defaults = [None] * len(converted.args.kwonlyargs)
        for argument in ast.walk(converted.args):
            if isinstance(argument, ast.arg):
                argument.annotation = None
        factory = ast.parse(f"def ag_factory({', '.join(parameters)}):\n    pass\n")
        factory.body[0].body = [converted]
        ast.fix_missing_locations(factory)
        module = compile(factory, code.co_filename, "exec", dont_inherit=True)
        outer = next(c for c in module.co_consts if isinstance(c, types.CodeType))
        inner = next(c for c in outer.co_consts if isinstance(c, types.CodeType) and c.co_name == name)
        result = (inner.replace(co_name=code.co_name), ast.unparse(converted))
    _cache[code] = result
    return result


def convert_function(function):
    """A function like `function` whose control flow over tensors goes into the graph; itself without source."""
    compiled = _compile(function)
    if compiled is None:
        return function
    code, source = compiled
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
    cells["ag__"] = types.CellType(operators)
    closure = tuple(cells[name] for name in code.co_freevars)
    result = types.FunctionType(code, function.__globals__, function.__name__, function.__defaults__, closure)
    result.__kwdefaults__ = function.__kwdefaults__
    result.__dict__.update(function.__dict__)
    result.__module__, result.__qualname__, result.__doc__ = function.__module__, function.__qualname__, function.__doc__
    result.ag_source = source
    _converted.add(result)
    return result


def _skipped_module(module):
    return module is not None and module.split(".")[0] in _SKIPPED


def is_convertible(function):
    """Whether a callable is a user's function that was not excluded."""
    if isinstance(function, types.MethodType):
        function = function.__func__
    if not isinstance(function, types.FunctionType) or function in _converted:
        return False
    if getattr(function, "__ag_do_not_convert__", False) or getattr(function, "autograph_info__", None):
        return False
    if _skipped_module(function.__module__) and not _is_user_file(function.__code__.co_filename):
        return False
    flags = function.__code__.co_flags
    return not flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR)


def _is_user_file(filename):
    """A program may be called like a library that is left out; the standard library and packages are not user files."""
    folder = os.path.dirname(os.path.abspath(filename))
    return not any(part in folder for part in ("site-packages", "dist-packages", "lib/python")) and \
        os.path.join("weir", "") not in os.path.join(folder, "") and "tensorflow" + os.sep not in folder


def for_call(function):
    """The function to call in place of `function` inside of converted code."""
    if isinstance(function, functools.partial):
        inner = for_call(function.func)
        return function if inner is function.func else functools.partial(inner, *function.args, **function.keywords)
    if isinstance(function, types.MethodType):
        if not is_convertible(function):
            return function
        converted = convert_function(function.__func__)
        return function if converted is function.__func__ else types.MethodType(converted, function.__self__)
    if isinstance(function, types.FunctionType):
        return convert_function(function) if is_convertible(function) else function
    if isinstance(function, type) or not callable(function):
        return function
    call = getattr(type(function), "__call__", None)
    if isinstance(call, types.FunctionType) and is_convertible(call) and not _skipped_module(type(function).__module__):
        converted = convert_function(call)
        return function if converted is call else types.MethodType(converted, function)
    return function


def wrapper(function, user_requested=True):
    """A callable that converts `function` and all it calls."""
    del user_requested
    target = for_call(function)

    @functools.wraps(function if hasattr(function, "__name__") else target)
    def converted(*args, **kwargs):
        with context.ControlContext(context.ControlStatus.ENABLED):
            return target(*args, **kwargs)

    converted.__ag_do_not_convert__ = True
    converted.ag_target = target
    return converted
