#!/usr/bin/env python3
"""Runs Keras on weir and on TensorFlow over many small cases and compares what they give.

    python -m weir python/tools/compare_keras.py run weir.out [--only PATTERN]      # with weir's Python
    python python/tools/compare_keras.py run tf.out [--only PATTERN]                # with TensorFlow's
    python python/tools/compare_keras.py diff tf.out weir.out [--show N]

The cases: every function of keras.ops (keras_op_cases.py; with every type keras_dtype_cases.py) eagerly, with KerasTensors
whose first dimension is unknown, inside a tf.function of unknown shapes, and its gradient; every layer of keras.layers
(keras_layer_cases.py), called, differentiated, saved and made symbolically; losses, metrics, optimizers and the like by
themselves (keras_object_cases.py); and whole programs (keras_program_cases.py). A result is a tree of arrays with their
types and static shapes, or the class and text of an error. A case that ends the interpreter is recorded as such.
"""

import argparse
import collections
import fnmatch
import os
import pickle
import re
import subprocess
import sys
import warnings

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))


def all_cases():
    """(name, function) of every case, in an order that does not change."""
    import keras_dtype_cases
    import keras_layer_cases
    import keras_object_cases
    import keras_op_cases
    import keras_program_cases
    for module in (keras_op_cases, keras_layer_cases, keras_dtype_cases, keras_object_cases,
                   keras_program_cases):
        yield from module.cases()


def describe(value):
    """A value as plain data: arrays with dtype, everything else by kind."""
    import numpy as np
    import tensorflow as tf
    if isinstance(value, dict):
        return {str(k): describe(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [describe(v) for v in value]
    if isinstance(value, tf.RaggedTensor):
        return ["ragged", value.dtype.name, value.to_list()]
    if isinstance(value, tf.SparseTensor):
        return ["sparse", describe(value.indices), describe(value.values), describe(value.dense_shape)]
    if isinstance(value, tf.IndexedSlices):
        return ["slices", describe(value.values), describe(value.indices)]
    if type(value).__name__ == "KerasTensor":
        return ["symbolic", tuple(value.shape), str(value.dtype), bool(value.sparse)]
    if hasattr(value, "numpy") or isinstance(value, (np.ndarray, np.generic)):
        array = np.asarray(value.numpy() if hasattr(value, "numpy") else value)
        dtype = str(array.dtype)
        if dtype in ("bfloat16", "float16") or dtype.startswith("float8"):
            array = array.astype("float32")
        return ["array", dtype, array]
    if isinstance(value, tf.TensorShape):
        return ["shape", None if value.rank is None else value.as_list()]
    if value is None or isinstance(value, (bool, int, float, str, bytes, complex)):
        return value
    return ["object", type(value).__name__]


def run_case(function):
    import keras
    keras.utils.set_random_seed(7)
    keras.backend.clear_session(free_memory=False)
    try:
        return describe(function())
    except BaseException as error:  # noqa: BLE001 a case may raise anything, which is its result
        if isinstance(error, KeyboardInterrupt):
            raise
        return ["error", type(error).__name__, str(error)[:2000]]


def run(path, only, begin=None):
    if begin is None:  # the parent: starts again behind a case that ended the interpreter
        open(path, "wb").close()
        at = 0
        while True:
            prefix = [sys.executable] + (["-m", "weir"] if "weir" in sys.modules else [])
            child = subprocess.run(prefix + [os.path.abspath(__file__), "run", path, "--begin", str(at)] +
                                   [a for p in only for a in ("--only", p)])
            results = read(path)
            started = [index for index, _, result in results if result == "started"]
            if child.returncode == 0 or not started:
                return child.returncode
            with open(path, "ab") as out:
                last = max(started)
                name = next(name for index, name, _ in results if index == last)
                pickle.dump((last, name, ["error", "Crash", f"exit status {child.returncode}"]), out)
            at = last + 1
    warnings.simplefilter("ignore")
    with open(path, "ab") as out:
        for index, (name, function) in enumerate(all_cases()):
            if index < begin or only and not any(fnmatch.fnmatch(name, p) for p in only):
                continue
            pickle.dump((index, name, "started"), out)
            out.flush()
            pickle.dump((index, name, run_case(function)), out)
            out.flush()
    return 0


def read(path):
    out = []
    with open(path, "rb") as file:
        while True:
            try:
                out.append(pickle.load(file))
            except EOFError:
                return out


def is_error(result):
    return isinstance(result, list) and bool(result) and isinstance(result[0], str) and result[0] == "error"


def same(a, b, path=""):
    """None, or what differs."""
    import numpy as np
    if is_error(a) and is_error(b):
        if a[1] != b[1] and {a[1], b[1]} != {"UnimplementedError", "InvalidArgumentError"}:
            return f"{path}: {a[1]}({first_line(a[2])}) / {b[1]}({first_line(b[2])})"
        return None
    if type(a) is not type(b):
        return f"{path}: {short(a)} / {short(b)}"
    if isinstance(a, list):
        if [v[0] if v and isinstance(v[0], str) else None for v in (a, b)] == ["array", "array"]:
            if a[1] != b[1] or a[2].shape != b[2].shape:
                return f"{path}: {a[1]}{list(a[2].shape)} / {b[1]}{list(b[2].shape)}"
            if a[2].dtype.kind in "fc":
                coarse = {"bfloat16": 2e-2, "float16": 4e-3}.get(a[1], 2e-4)
                if not np.allclose(a[2], b[2], rtol=coarse, atol=coarse * max(1e-2, float(np.nanmax(np.abs(
                        a[2][np.isfinite(a[2])]))) if np.isfinite(a[2]).any() else 1e-2), equal_nan=True):
                    return f"{path}: values {flat(a[2])} / {flat(b[2])}"
            elif not np.array_equal(a[2], b[2]):
                return f"{path}: values {flat(a[2])} / {flat(b[2])}"
            return None
        if len(a) != len(b):
            return f"{path}: {short(a)} / {short(b)}"
        for i, (left, right) in enumerate(zip(a, b)):
            found = same(left, right, f"{path}[{i}]")
            if found:
                return found
        return None
    if isinstance(a, dict):
        if list(a) != list(b):
            return f"{path}: keys {list(a)} / {list(b)}"
        for key in a:
            found = same(a[key], b[key], f"{path}.{key}")
            if found:
                return found
        return None
    if isinstance(a, float):
        return None if np.allclose(a, b, rtol=1e-3, atol=1e-5, equal_nan=True) else f"{path}: {a} / {b}"
    return None if a == b else f"{path}: {short(a)} / {short(b)}"


def flat(array):
    return re.sub(r"\s+", " ", str(array.reshape(-1)[:6]))


def first_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return (" | ".join(lines[:1] + lines[-1:]) if len(lines) > 1 else "".join(lines))[:260]


def short(value):
    if is_error(value):
        return f"{value[1]}({first_line(value[2])})"
    return re.sub(r"\s+", " ", str(value))[:160]


def diff(left, right, show):
    a = {name: result for _, name, result in read(left) if result != "started"}
    b = {name: result for _, name, result in read(right) if result != "started"}
    differing = collections.OrderedDict()
    for name, result in a.items():
        if name in b:
            found = same(result, b[name])
            if found:
                differing[name] = found
    compared = len(set(a) & set(b))
    errors = sum(1 for v in a.values() if is_error(v))
    print(f"{compared} cases compared ({errors} raise on the left), {len(differing)} differ")
    for name, text in list(differing.items())[:show]:
        print(f"{name}{text}")
    return 1 if differing else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "diff", "list"])
    parser.add_argument("files", nargs="*")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--begin", type=int)
    parser.add_argument("--show", type=int, default=1000)
    arguments = parser.parse_args()
    if arguments.what == "list":
        for name, _ in all_cases():
            print(name)
        return 0
    if arguments.what == "run":
        return run(arguments.files[0], arguments.only, arguments.begin)
    return diff(*arguments.files, arguments.show)


if __name__ == "__main__":
    sys.exit(main())
