"""Cases for compare_functions.py over all public functions: arguments are chosen by the names of parameters.

The functions and their parameters are those of the package's table, so both sides make the same calls. Many calls are
wrong on purpose; then the classes of the errors are compared.
"""

import ast
import os

import numpy as np

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "weir")
SKIPPED_MODULES = ("weir.ops.random", "weir.io.gfile", "weir.summary", "weir.test", "weir.profiler", "weir.data", "weir.autograph",
                   "weir.train", "weir.saved_model", "weir.compat", "weir.eager", "weir.framework", "weir.distribute", "weir.io.records",
                   "weir.ops.logging", "weir.ops.initializers", "weir.sysconfig", "weir.version", "weir.ops.tensor_array", "weir.ops.lookup")
SKIPPED = {"io.write_file", "io.read_file", "io.matching_files", "debugging.set_log_device_placement", "debugging.enable_check_numerics",
           "nn.dropout", "nn.experimental.stateless_dropout", "image.random_crop", "nn.fractional_max_pool", "nn.fractional_avg_pool",
           "debugging.disable_traceback_filtering", "debugging.enable_traceback_filtering", "while_loop", "vectorized_map",
           "debugging.is_traceback_filtering_enabled", "debugging.get_log_device_placement", "nn.sampled_softmax_loss", "nn.nce_loss"}
AXES = {"axis", "axes", "dim", "seq_axis", "batch_axis", "batch_dims", "class_dim", "reduction_dimension"}
SHAPES = {"shape", "size", "dims", "shape_x", "shape_y", "block_shape", "crop_size", "output_shape", "batch_shape", "multiples", "ksize",
          "strides", "begin", "sizes", "dilations", "rates", "fft_length", "window_shape", "num_or_size_splits", "paddings"}
SWITCHES = ("keepdims", "exclusive", "reverse", "conjugate", "transpose", "adjoint", "full_matrices", "stable", "antialias", "align_corners",
            "sorted", "overlapping", "centered", "normalized", "validate", "lower", "compute_uv", "deterministic", "is_")


def _functions():
    """[(public name, [(parameter, has a default)])] from the package's sources, which need not be importable."""
    with open(os.path.join(ROOT, "_api.py")) as file:
        tree = ast.parse(file.read())
    table = next(ast.literal_eval(n.value) for n in tree.body if isinstance(n, ast.Assign))
    parsed, out = {}, []
    for public, (module, name) in sorted(table.items()):
        if module.startswith(SKIPPED_MODULES) or public in SKIPPED or "random" in public:
            continue
        if module not in parsed:
            path = os.path.join(ROOT, *module.split(".")[1:]) + ".py"
            parsed[module] = {}
            if os.path.exists(path):
                with open(path) as file:
                    parsed[module] = {n.name: n.args for n in ast.parse(file.read()).body if isinstance(n, ast.FunctionDef)}
        arguments = parsed[module].get(name)
        if arguments is None:
            if module.endswith(".generated"):
                out.append((public, None))
            continue
        names = [a.arg for a in arguments.args]
        first = len(names) - len(arguments.defaults)
        out.append((public, [(n, i >= first) for i, n in enumerate(names) if n != "name"]))
    return out


def _array(rng):
    kind = rng.choice(["float32", "float32", "float32", "float64", "int32", "int64", "bool", "complex64", "uint8", "str"])
    shape = [(), (1,), (3,), (2, 3), (3, 3), (2, 2, 3), (1, 4, 4, 1), (0,), (2, 0)][rng.integers(9)]
    if kind == "str":
        return np.array(rng.choice(["", "a", "b c", "words", "12"], size=shape).tolist() if shape else "a b").astype("S")
    if kind == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if kind.startswith(("int", "uint")):
        return rng.integers(0, 5, shape).astype(kind)
    value = rng.standard_normal(shape)
    return (value + 1j * rng.standard_normal(shape)).astype(kind) if kind == "complex64" else np.asarray(value).astype(kind)


def _value(name, rng):
    if name in AXES:
        return [None, 0, 1, -1, 2, [0], [0, 1]][rng.integers(7)]
    if name in SHAPES:
        return [[2, 3], [3], [], 2, [1, 2, 2, 1], [-1], [[0, 0], [1, 1]]][rng.integers(7)]
    if name in ("dtype", "out_type", "output_type"):
        return ["float32", "int32", "int64", "float64"][rng.integers(4)]
    if name.startswith(SWITCHES):
        return bool(rng.integers(2))
    if name in ("padding", "mode", "direction", "encoding", "unit"):
        return ["SAME", "VALID", "CONSTANT", "ASCENDING", "UTF-8", "BYTE"][rng.integers(6)]
    if name in ("k", "num", "depth", "maxlen", "num_classes", "num_segments", "num_bits", "num_partitions", "block_size", "maxlength"):
        return int(rng.integers(0, 5))
    if name in ("tensors", "values", "inputs", "arrays", "sp_inputs") and rng.random() < 0.5:
        one = _array(rng)
        return [one, one]
    if rng.random() < 0.1:
        return [1, 2.5, True, "a", -3, None][rng.integers(6)]
    return _array(rng)


def cases(rng):
    """One call of each function."""
    for public, parameters in _functions():
        if parameters is None:
            first = _array(rng)
            count = int(rng.integers(1, 4))
            args = [first if rng.random() < 0.7 else _array(rng) for _ in range(count)]
            yield public, args, {}
            continue
        args, kwargs, shared = [], {}, _array(rng)
        for name, optional in parameters:
            if optional and rng.random() < 0.75:
                continue
            value = _value(name, rng)
            if isinstance(value, np.ndarray) and rng.random() < 0.6:
                value = shared
            if optional or kwargs:
                kwargs[name] = value
            else:
                args.append(value)
        yield public, args, kwargs
