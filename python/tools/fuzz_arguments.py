#!/usr/bin/env python3
"""Calls public functions and ops with wrong arguments: exceptions are right, a crash of the interpreter never is.

    PYTHONPATH=build/release/python python python/tools/fuzz_arguments.py [--calls N] [--seed S] [--only PATTERN] [--verbose]

Values are wrong types, huge shapes, empty tensors, None, tensors of graphs and functions that are gone. A child process makes
the calls of a batch and writes down each before it is made, so that the call that ended it is known; the batch then goes on
behind it. The same seed makes the same calls: `--only NAME --seed S` repeats one.
"""

import argparse
import fnmatch
import os
import random
import subprocess
import sys
import tempfile

# They wait for others by design, end the process, talk to networks, or change what later calls see.
WAITING = ("Dequeue", "Unstage", "Recv", "Collective", "Barrier", "MutexLock", "MapPeek", "OrderedMapPeek", "StagePeek",
           "BatchFunction", "AccumulatorTakeGradient", "TakeMany", "Send", "DataService", "Rpc", "MultiDeviceIterator", "Nccl")
SKIPPED = ("app.run", "test.main", "train.Server", "distribute.Server", "experimental.enable_strict_mode", "compat.v1.app",
           "test.create_local_cluster", "config.", "compat.v1.disable", "compat.v1.enable", "profiler.", "load_library",
           "load_op_library", "compat.v1.train.start_queue_runners", "compat.v1.train.Supervisor", "sysconfig", "io.gfile",
           "compat.v1.gfile", "distribute.", "keras", "compat.v1.flags", "compat.v1.logging", "compat.v1.train.MonitoredTraining",
           "compat.v1.train.basic_train_loop", "summary.trace", "compat.v1.resource_loader", "autograph.trace", "data.experimental."
           "enable_debug", "compat.v1.reset_default_graph", "io.write_file", "io.write_graph", "compat.v1.train.write_graph",
           "train.checkpoints_iterator", "train.summary_iterator", "compat.v1.train.summary_iterator", "saved_model.save",
           "compat.v2.", "numpy_function", "py_function", "compat.v1.py_func", "data.Dataset", "debugging.set_log", "print",
           "debugging.disable_traceback", "experimental.numpy.experimental")
SKIPPED_OPS = ("Save", "WriteFile", "Abort", "Print", "PrintV2", "EagerPyFunc", "PyFunc", "PyFuncStateless", "DeleteFile",
               "MergeV2Checkpoints", "TemporaryVariable", "ShardedFilename", "SaveV2", "SaveSlices", "SaveDataset", "SaveDatasetV2",
               "SnapshotDataset", "SnapshotDatasetV2", "DatasetToTFRecord", "WriteSummary", "Fact", "DistributedSave")


def targets():
    """[(name, callable)]: public functions, then ops."""
    import functools
    import types

    import weir
    from weir import _names
    out = []
    for name in sorted(_names.TABLE):
        if any(name.startswith(s) or name.startswith("compat.v1." + s) for s in SKIPPED):
            continue
        if _names.TABLE[name][0].startswith(("keras", "tensorflow")):
            continue
        try:
            value = functools.reduce(getattr, name.split("."), weir)
        except (AttributeError, ImportError):
            continue
        if isinstance(value, (types.FunctionType, types.BuiltinFunctionType)):
            out.append((name, value))
    for name in sorted(dir(weir.raw_ops)):
        if name not in SKIPPED_OPS and not any(w in name for w in WAITING):
            out.append(("raw_ops." + name, getattr(weir.raw_ops, name)))
    return out


def pool():
    """The values that arguments are chosen from."""
    import numpy as np

    import weir as tf
    with tf.Graph().as_default():
        of_a_graph = tf.constant([1.0, 2.0])
        placeholder = tf.compat.v1.placeholder(tf.float32)
    kept = []
    tf.function(lambda x: kept.append(x + 1))(tf.constant(1.0))
    variable = tf.Variable([1.0, 2.0])
    handle = tf.Variable([1]).handle  # of a variable that is gone
    plain = [None, -1, 0, 1, 2**40, -2**63, 2**70, 1e308, float("nan"), True, "", "x", "NHWC", b"", b"\xff\x00", [], [[]], [1, [2]],
             [None], {}, {"a": 1}, (), (1, 2), set(), object(), object, lambda x: x, Ellipsis, slice(1), range(3), 1j, [2**31, 2**31],
             [-1, 2], ["a", 1], [0], [1, 2, 3]]
    arrays = [np.zeros((0,), np.float32), np.zeros((0, 3), np.int64), np.ones((2, 3), np.float32), np.array("a"), np.array([b"x", "y"]),
              np.array([object()]), np.float16(1), np.ones((1, 4, 4, 1), np.float64), np.arange(6), np.array(True), np.zeros((2, 0, 2)),
              np.array([np.nan, np.inf], np.float32), np.empty((2,), [("f", np.int32)]), np.broadcast_to(np.float32(1), (100, 100))]
    tensors = [tf.constant(1), tf.constant(1.0), tf.zeros([0]), tf.zeros([0, 2], tf.int64), tf.constant(["a", "b"]), tf.constant(""),
               tf.ones([2, 3]), tf.ones([2, 2, 2], tf.float64), tf.constant([True, False]), tf.constant([1 + 2j]), tf.ones([1, 4, 4, 3]),
               tf.cast([1, 2], tf.uint8), tf.cast([1.5], tf.bfloat16), tf.constant([-1, 5], tf.int64), tf.constant(2**31 - 1),
               tf.constant([2**31 - 1, 2**31 - 1]), tf.range(10), variable, variable.handle, handle, of_a_graph, placeholder, kept[0],
               tf.sparse.from_dense([[1.0, 0.0]]), tf.ragged.constant([[1], [2, 3]]), tf.IndexedSlices(tf.ones([1, 2]), [0]),
               tf.raw_ops.EmptyTensorList(element_shape=-1, max_num_elements=-1, element_dtype=tf.float32),
               tf.data.Dataset.range(3)._variant_tensor, tf.data.Dataset.range(3), iter(tf.data.Dataset.range(1)),
               tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1).resource_handle, tf.random.Generator.from_seed(1)]
    others = [tf.float32, tf.int32, tf.string, tf.resource, tf.bfloat16, tf.TensorShape(None), tf.TensorShape([None, 2]), tf.TensorSpec([]),
              tf.TensorSpec(None, tf.string), tf.GradientTape(), tf.Graph(), tf.Tensor, tf, tf.function(lambda x: x)]
    return plain, arrays, tensors, others


def arguments_of(target, values, source):
    """Some positional and keyword arguments for a call."""
    import inspect
    plain, arrays, tensors, others = values

    def value():
        kind = source.random()
        chosen = plain if kind < 0.3 else arrays if kind < 0.5 else tensors if kind < 0.9 else others
        one = source.choice(chosen)
        return [source.choice(tensors) for _ in range(source.randrange(4))] if source.random() < 0.1 else one
    try:
        parameters = list(inspect.signature(target).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    keywords = {}
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            continue
        needed = parameter.default is parameter.empty
        if source.random() < (0.97 if needed else 0.25):
            keywords[parameter.name] = value()
    if not parameters:
        return [value() for _ in range(source.randrange(4))], {}
    return [], keywords


def child(options):
    """Makes calls and writes each to the log before it is made."""
    import resource
    if "san.so" not in os.environ.get("LD_PRELOAD", ""):  # sanitizers reserve terabytes, and have a limit of their own
        limit = options.memory * 2**20
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.chdir(tempfile.mkdtemp())
    chosen = [t for t in targets() if not options.only or fnmatch.fnmatch(t[0], options.only)]
    values = pool()
    with open(options.log, "a", buffering=1) as log:
        for number in range(options.first, options.calls):
            source = random.Random(options.seed * 1_000_003 + number)
            name, target = source.choice(chosen)
            args, keywords = arguments_of(target, values, source)
            log.write(f"{number} {name} {_shown(args, keywords)}\n")
            try:
                target(*args, **keywords)
            except (KeyboardInterrupt, SystemExit):
                log.write("# ended by an exception of the interpreter\n")
            except BaseException as error:  # noqa: BLE001
                str(error)
            if options.verbose:
                log.write("# done\n")
        log.write("# end\n")
    os._exit(0)


def _shown(args, keywords):
    def one(value):
        try:
            return repr(value).replace("\n", " ")[:80]
        except Exception as error:  # noqa: BLE001
            return f"<{type(value).__name__}: {type(error).__name__} in repr>"
    return f"({', '.join([one(a) for a in args] + [f'{k}={one(v)}' for k, v in keywords.items()])})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only")
    parser.add_argument("--first", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--log", help=argparse.SUPPRESS)
    parser.add_argument("--memory", type=int, default=6000, help="MiB of address space of the child")
    parser.add_argument("--seconds", type=int, default=300, help="time for one child")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    if options.log:
        return child(options)
    bad, first = [], 0
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "log")
        while first < options.calls:
            command = [sys.executable, os.path.abspath(__file__), "--log", log, "--first", str(first), "--calls", str(options.calls),
                       "--seed", str(options.seed), "--memory", str(options.memory)]
            command += ["--only", options.only] if options.only else []
            environment = {**os.environ, "PYTHONFAULTHANDLER": "1"}
            try:
                done = subprocess.run(command, stderr=subprocess.PIPE, timeout=options.seconds, env=environment, check=False)
                code, text = done.returncode, done.stderr.decode(errors="replace")
            except subprocess.TimeoutExpired as late:
                code, text = "timeout", (late.stderr or b"").decode(errors="replace")
            lines = []
            if os.path.exists(log):
                with open(log) as file:
                    lines = [line for line in file.read().splitlines() if line]
            if lines and lines[-1] == "# end":
                break
            last = next((line for line in reversed(lines) if not line.startswith("#")), None)
            if last is None:
                print(f"The child could not start: {code}\n{text[-2000:]}")
                return 2
            bad.append(last)
            print(f"{code}: {last}\n{text[-1500:] if options.verbose else text[-300:]}", flush=True)
            first = int(last.split()[0]) + 1
    print(f"{options.calls} calls, {len(bad)} of them ended the interpreter")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
