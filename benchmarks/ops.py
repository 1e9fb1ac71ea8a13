#!/usr/bin/env python3
"""Single operations in weir, in TensorFlow and in PyTorch, side by side in one run.

    python3 benchmarks/ops.py --weir build/release/bin/weir [--torch PYTHON] [--filter Conv2D] [--rounds 3] [--goal 1.1]

The interpreter must have TensorFlow; --torch names one that has PyTorch. weir writes a graph for each operation
(`weir bench ops --graphs`); TensorFlow runs that graph, PyTorch what torch_ops.py says is the same, all on two threads, in
turns, and the least time of each counts. The ratio is to the better peer. The table ends with the operations above the
goal.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import tempfile

from timing import best

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


def weir_times(program, name, seconds, folder):
    command = [program, "bench", "ops", "--filter", name, "--seconds", str(seconds), "--graphs", folder]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return {line.split()[0]: float(line.split()[1]) for line in lines}


def limit_of(node):
    """The bound of a placeholder of indices; None of one of numbers."""
    limit = re.search(r"below_(\d+)", node.name)
    return int(limit[1]) if limit else None


def shape_of(node):
    return [d.size for d in node.attr["shape"].shape.dim]


class TensorFlowOp:
    def __init__(self, tf, np, definition):
        v1 = tf.compat.v1
        graph, random = tf.Graph(), np.random.default_rng(1)
        # Inputs are variables: reading one copies nothing, as feeding weir copies nothing.
        with graph.as_default():
            variables = {}
            for node in definition.node:
                if node.op != "Placeholder":
                    continue
                limit, shape = limit_of(node), shape_of(node)
                value = random.integers(0, limit, shape, np.int32) if limit else random.standard_normal(shape, np.float32)
                start = v1.placeholder(value.dtype, shape)
                variables[node.name] = (tf.Variable(start, shape=shape), start, value)
            tf.import_graph_def(definition, {f"{name}:0": v[0].read_value() for name, v in variables.items()}, name="")
        config = v1.ConfigProto(intra_op_parallelism_threads=2, inter_op_parallelism_threads=2)
        config.graph_options.rewrite_options.disable_meta_optimizer = True
        session = v1.Session("", graph, config)
        for variable, start, value in variables.values():
            session.run(variable.initializer, {start: value})
        self.call = session.make_callable(graph.get_operation_by_name("y"))
        self.call()


class Torch:
    """PyTorch in a process of its own (torch_ops.py)."""

    def __init__(self, python):
        script = pathlib.Path(__file__).with_name("torch_ops.py")
        environment = {**os.environ, "OMP_NUM_THREADS": "2"}
        self.process = subprocess.Popen([python, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=environment)

    def ask(self, **order):
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def prepare(self, tf, name, definition):
        """Whether PyTorch has the operation."""
        nodes = {node.name: node for node in definition.node}
        y, inputs, attrs = nodes["y"], [], {}
        for source in (nodes[i.split(":")[0]] for i in y.input):
            if source.op == "Const":
                inputs.append({"value": tf.make_ndarray(source.attr["value"].tensor).tolist()})
            else:
                inputs.append({"shape": shape_of(source), "below": limit_of(source)})
        for key, value in y.attr.items():
            kind = value.WhichOneof("value")
            if kind == "b":
                attrs[key] = value.b
            elif kind == "list":
                attrs[key] = list(value.list.i)
        return self.ask(name=name, op=y.op, inputs=inputs, attrs=attrs)["ok"]

    def time(self, name, seconds):
        return self.ask(name=name, seconds=seconds)["ms"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weir", required=True, help="the program")
    parser.add_argument("--filter", default="", help="only operations whose names contain this")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.1, help="of each program, operation and round")
    parser.add_argument("--goal", type=float, default=1.1, help="the largest ratio that is good enough")
    parser.add_argument("--torch", metavar="PYTHON", help="an interpreter that has PyTorch")
    options = parser.parse_args()
    import numpy as np
    import tensorflow as tf

    torch = Torch(options.torch) if options.torch else None
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs, calls, in_torch = {}, {}, {}, set()
        for turn in range(options.rounds):
            for name, ms in weir_times(options.weir, options.filter, options.seconds, folder).items():
                ours[name] = min(ours.get(name, ms), ms)
            for name in ours:
                times = theirs.setdefault(name, {})
                if name not in calls:
                    definition = tf.compat.v1.GraphDef.FromString((pathlib.Path(folder) / f"{name}.pb").read_bytes())
                    calls[name] = TensorFlowOp(tf, np, definition).call
                    if torch and torch.prepare(tf, name, definition):
                        in_torch.add(name)
                turns = {"TensorFlow": best(calls[name], options.seconds)}
                if name in in_torch:
                    turns["PyTorch"] = torch.time(name, options.seconds)
                for peer, ms in turns.items():
                    times[peer] = min(times.get(peer, ms), ms)
    peers = ["TensorFlow"] + (["PyTorch"] if torch else [])
    print(f"| operation | {' | '.join(f'{peer}, ms' for peer in peers)} | weir, ms | ratio |")
    print("|---" * (len(peers) + 3) + "|")
    for name, times in theirs.items():
        columns = " | ".join(f"{times[peer]:.3f}" if peer in times else "-" for peer in peers)
        print(f"| {name} | {columns} | {ours[name]:.3f} | {ours[name] / min(times.values()):.2f} |")
    slow = [name for name, times in theirs.items() if ours[name] > options.goal * min(times.values())]
    print(f"\n{len(ours) - len(slow)} of {len(ours)} within {options.goal}; above: {', '.join(slow) or 'none'}")


if __name__ == "__main__":
    main()
