#!/usr/bin/env python3
"""Plays conformance programs (graphs of TensorFlow 1 with sessions) in process, and compares with TensorFlow's values.

    python python/tools/compare_conformance.py FOLDER record VALUES             # with a Python that has TensorFlow
    python -m weir python/tools/compare_conformance.py FOLDER compare VALUES [--case PATTERN] [--family NAME]

FOLDER holds the packages `harness` and `cases`. Each case plays in a session of its own process; differences are named, and
the exit code is 0 if there are none.
"""

import argparse
import fnmatch
import os
import pickle
import sys
import tempfile
import time
import traceback
import types


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("action", choices=["record", "compare"])
    parser.add_argument("values")
    parser.add_argument("--case", action="append", default=[])
    parser.add_argument("--family", action="append", default=[])
    parser.add_argument("--verbose", action="store_true")
    return parser.parse_args()


def load(families):
    """Imports the cases; a module that cannot be imported is told and left out."""
    import cases
    failed = []
    for family in families or cases.FAMILIES:
        try:
            cases.load([family])
        except Exception as error:  # noqa: BLE001
            failed.append((family, f"{type(error).__name__}: {error}"))
            traceback.print_exc()
    return failed


def play(case, directory, expected):
    """The records of a case; with `expected`, Difference is raised at the first that differs."""
    import tensorflow as tf
    from harness.case import Program
    from harness.side import Side
    v1 = tf.compat.v1
    graph = tf.Graph()
    program = Program(graph)
    container = case.id.replace("_", "-")
    with graph.as_default(), graph.container(container):
        case.build(program)
    config = v1.ConfigProto(operation_timeout_in_ms=20000)
    side = Side(case, graph, "", config, os.path.join(directory, *case.id.split("/")), container, expected)
    try:
        for step in program.steps:
            step.play(side)
    finally:
        side.close()
    return side.records


def main():
    options = arguments()
    sys.path.insert(0, options.folder)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
    try:
        import grpc  # noqa: F401
    except ImportError:  # only its class of errors is used in process
        sys.modules["grpc"] = types.SimpleNamespace(RpcError=type("RpcError", (Exception,), {}),
                                                    StatusCode=types.SimpleNamespace(DEADLINE_EXCEEDED=4))
    import tensorflow as tf
    tf.compat.v1.disable_v2_behavior()
    failed = load(options.family)
    from harness.case import ALL
    chosen = [case for case in ALL.values() if case.oracle == "local" and
              (not options.case or any(fnmatch.fnmatch(case.id, pattern) for pattern in options.case))]
    known = {}
    if options.action == "compare":
        with open(options.values, "rb") as file:
            known = pickle.load(file)
        chosen = [case for case in chosen if known.get(case.id, ("", None))[0] == "ok"]
    results, begin = {}, time.time()
    with tempfile.TemporaryDirectory() as directory:
        for case in chosen:
            expected = known[case.id][1] if known else None
            try:
                records = play(case, directory, expected)
                if expected is not None and len(records) < len(expected):
                    raise AssertionError(f"{expected[len(records)][0]}: does not get here")
                results[case.id] = ("ok", records)
            except Exception as error:  # noqa: BLE001
                text = f"{type(error).__name__}: {error}"
                results[case.id] = ("fail", text)
                print(case.id, text[:300].replace("\n", " | "), flush=True)
                if options.verbose:
                    traceback.print_exc()
    good = sum(status == "ok" for status, _ in results.values())
    if options.action == "record":
        with open(options.values, "wb") as file:
            pickle.dump(results, file)
    print(f"{good} of {len(results)} cases {'recorded' if options.action == 'record' else 'agree'} in "
          f"{time.time() - begin:.0f} s; {len(failed)} families could not be loaded: {failed}")
    return 0 if good == len(results) and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
