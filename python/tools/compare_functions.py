#!/usr/bin/env python3
"""Calls public functions at random, in weir and in TensorFlow, and names the differences.

    python python/tools/compare_functions.py --weir PYTHON --tensorflow PYTHON [--rounds 20] [--seed 1] [--only NAME]

Each side runs in a process of its own (`--run MODULE` inside), makes the same arguments from the same seeds and writes
its results; they are then compared: values to a tolerance by type, shapes, types and the class of an error. With
`--record FILE` the results of TensorFlow are written as a fixture for tests/functions_test.py.
"""

import argparse
import base64
import importlib
import json
import os
import pickle
import subprocess
import sys
import tempfile
import zlib

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # for modules of cases


def lookup(module, name):
    """A public function by its dotted name, or None."""
    value = module
    for part in name.split("."):
        value = getattr(value, part, None)
        if value is None:
            return None
    return value


def flatten(value):
    """A result as a list of numpy arrays."""
    if value is None:
        return [None]
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in flatten(item)]
    if hasattr(value, "row_splits"):
        return flatten(value.flat_values) + [np.asarray(s.numpy()) for s in value.nested_row_splits]
    if hasattr(value, "dense_shape"):
        return flatten([value.indices, value.values, value.dense_shape])
    if hasattr(value, "as_list"):
        return [np.array([-1 if d is None else d for d in value.as_list()])]
    if hasattr(value, "numpy"):
        array = np.asarray(value.numpy())
        return [array.astype(np.float32) if array.dtype.name == "bfloat16" else array]
    array = np.asarray(value)
    return [np.asarray(str(value)) if array.dtype == object else array]


def run(module, rounds, seed, only, cases="function_cases", begin=lambda key: True, end=lambda key, result: None):
    """{(round, position, name): ("ok", arrays) or ("error", class, message)}

    A call is left out unless begin(key); end(key, result) is told of each result.
    """
    library = importlib.import_module(module)
    make_cases = importlib.import_module(cases).cases
    results = {}
    for number in range(rounds):
        rng = np.random.default_rng([seed, number])
        as_tensors = number % 2 == 0
        for position, (name, args, kwargs) in enumerate(make_cases(rng)):
            if only and name != only:
                continue
            function = lookup(library, name)
            key = (number, position, name)
            if not begin(key):
                continue
            if function is None:
                results[key] = ("missing",)
                end(key, results[key])
                continue
            try:
                if as_tensors:
                    convert = lambda v: library.constant(v) if isinstance(v, np.ndarray) else v  # noqa: E731
                    args = [convert(a) if not isinstance(a, list) else [convert(v) for v in a] for a in args]
                results[key] = ("ok", flatten(function(*args, **kwargs)))
            except Exception as error:  # pylint: disable=broad-except
                results[key] = ("error", type(error).__name__, str(error)[:300])
            end(key, results[key])
    return results


def run_in_steps(options):
    """As `run`, with each call and result appended to a file, so that a call that ends the process is known."""
    done = dict(read_steps(options.out))
    with open(options.out, "ab", buffering=0) as out:
        def begin(key):
            if key in done:
                return False
            out.write(pickle.dumps((key, None)))
            return True
        run(options.run, options.rounds, options.seed, options.only, options.cases, begin,
            lambda key, result: out.write(pickle.dumps((key, result))))


def read_steps(path):
    """(key, result) of a file of steps; ("crash",) for a call without a result."""
    out = {}
    if os.path.exists(path):
        with open(path, "rb") as source:
            while True:
                try:
                    key, result = pickle.load(source)
                except EOFError:
                    break
                out[key] = result if result is not None else ("crash",)
    return out


def _encode(array):
    if array is None:
        return None
    if array.dtype == object:
        flat = [base64.b64encode(v if isinstance(v, bytes) else str(v).encode()).decode() for v in array.reshape(-1)]
        return ["object", list(array.shape), flat]
    kind = array.dtype.str if array.dtype.kind in "SU" else array.dtype.name
    return [kind, list(array.shape), base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()]


def _decode(entry):
    if entry is None:
        return None
    kind, shape, data = entry
    if kind == "object":
        array = np.empty(len(data), dtype=object)
        array[:] = [base64.b64decode(v) for v in data]
        return array.reshape(shape)
    if kind.startswith("bytes"):  # numpy's name for the type "S37" is bytes296
        kind = f"S{int(kind[5:]) // 8}"
    return np.frombuffer(base64.b64decode(data), dtype=kind).reshape(shape)


def record(path, rounds, seed, results):
    """Writes results as a fixture: compressed JSON, which any numpy reads."""
    rows = [[list(key), [r[0], [_encode(a) for a in r[1]]] if r[0] == "ok" else list(r[:2])] for key, r in results.items()]
    with open(path, "wb") as out:
        out.write(zlib.compress(json.dumps([rounds, seed, rows]).encode(), 9))


def recorded(path):
    """(rounds, seed, results) of a fixture."""
    with open(path, "rb") as source:
        rounds, seed, rows = json.loads(zlib.decompress(source.read()))
    results = {tuple(key): ("ok", [_decode(a) for a in row[1]]) if row[0] == "ok" else tuple(row) + ("",) for key, row in rows}
    return rounds, seed, results


def close(a, b):
    """Why two arrays differ, or None."""
    if (a is None) != (b is None):
        return "one is None"
    if a is None:
        return None
    if a.dtype != b.dtype:
        return f"types {a.dtype} and {b.dtype}"
    if a.shape != b.shape:
        return f"shapes {a.shape} and {b.shape}"
    if a.dtype.kind in "fc":
        tolerance = 2e-3 if a.dtype.itemsize == 2 else 2e-4 if a.dtype.name in ("float32", "complex64") else 1e-9
        if not np.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True):
            return f"values {a.reshape(-1)[:4]} and {b.reshape(-1)[:4]}"
        return None
    return None if np.array_equal(a, b) else f"values {a.reshape(-1)[:4]} and {b.reshape(-1)[:4]}"


def difference(mine, theirs):
    """Why two results differ, or None."""
    if mine[0] != theirs[0]:
        return f"{mine[0]} {mine[1:] if mine[0] == 'error' else ''} where TensorFlow has {theirs[0]} " \
               f"{theirs[1:] if theirs[0] == 'error' else ''}"
    if mine[0] == "error":
        return None if mine[1] == theirs[1] else f"{mine[1]} ({mine[2][:80]}) where TensorFlow has {theirs[1]} " \
                                                 f"({theirs[2][:80]})"
    if len(mine[1]) != len(theirs[1]):
        return f"{len(mine[1])} results where TensorFlow has {len(theirs[1])}"
    for a, b in zip(mine[1], theirs[1]):
        why = close(a, b)
        if why:
            return why
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weir", default=sys.executable, help="the Python that has weir")
    parser.add_argument("--tensorflow", default=sys.executable, help="the Python that has TensorFlow")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="one function")
    parser.add_argument("--cases", default="function_cases", help="a module beside this file: function_cases, numpy_cases, public_cases")
    parser.add_argument("--run", help=argparse.SUPPRESS)
    parser.add_argument("--out", help=argparse.SUPPRESS)
    parser.add_argument("--record", help="write TensorFlow's results to this file")
    options = parser.parse_args()
    if options.run:
        run_in_steps(options)
        return 0
    sides = {}
    with tempfile.TemporaryDirectory() as folder:
        for module, python in (("tensorflow", options.tensorflow), ("weir", options.weir)):
            if options.record and module == "weir":
                continue
            path = os.path.join(folder, module)
            command = [python, os.path.abspath(__file__), "--run", module, "--out", path, "--rounds",
                       str(options.rounds), "--seed", str(options.seed), "--cases", options.cases]
            if options.only:
                command += ["--only", options.only]
            environment = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="-1")
            for _ in range(200):  # a call that ends the process is left out of the next
                code = subprocess.run(command, check=False, env=environment).returncode
                if code >= 0:
                    break
            if code != 0:
                raise RuntimeError(f"{' '.join(command)} ended with {code}")
            sides[module] = read_steps(path)
    if options.record:
        record(options.record, options.rounds, options.seed, sides["tensorflow"])
        return 0
    compared, missing, found = 0, set(), {}
    for key, theirs in sides["tensorflow"].items():
        mine = sides["weir"][key]
        if theirs[0] == "crash":
            continue
        if mine[0] == "missing" or theirs[0] == "missing":
            missing.add(key[2] + ("" if mine[0] == "missing" else " (only in weir)"))
            continue
        compared += 1
        why = difference(mine, theirs)
        if why:
            found.setdefault(key[2], []).append((key[0], why))
    for name, whys in sorted(found.items()):
        print(f"{name}: {len(whys)} times, first in round {whys[0][0]}: {whys[0][1]}")
    if missing:
        print("not there:", ", ".join(sorted(missing)))
    functions = {key[2] for key in sides["tensorflow"]}
    print(f"{compared} calls of {len(functions)} functions compared, {sum(map(len, found.values()))} differ in "
          f"{len(found)} functions, {len(missing)} functions not there")
    return 1 if found or missing else 0


if __name__ == "__main__":
    sys.exit(main())
