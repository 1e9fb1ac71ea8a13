#!/usr/bin/env python3
"""Single operations in weir and in TensorFlow, side by side in one run.

    python3 benchmarks/ops.py --weir build/release/bin/weir [--filter Conv2D] [--rounds 3] [--goal 1.1]

The interpreter must have TensorFlow. weir writes a graph for each operation (`weir bench ops --graphs`); both run that
graph on two threads, in turns, and the least time of each counts. The table ends with the operations above the goal.
"""
import argparse
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


class TensorFlowOp:
    def __init__(self, tf, np, path):
        v1 = tf.compat.v1
        graph, random = tf.Graph(), np.random.default_rng(1)
        definition = v1.GraphDef.FromString(path.read_bytes())
        # Inputs are variables: reading one copies nothing, as feeding weir copies nothing.
        with graph.as_default():
            variables = {}
            for node in definition.node:
                if node.op != "Placeholder":
                    continue
                limit = re.search(r"below_(\d+)", node.name)
                shape = [d.size for d in node.attr["shape"].shape.dim]
                value = (random.integers(0, int(limit[1]), shape, np.int32) if limit
                         else random.standard_normal(shape, np.float32))
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weir", required=True, help="the program")
    parser.add_argument("--filter", default="", help="only operations whose names contain this")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.1, help="of each program, operation and round")
    parser.add_argument("--goal", type=float, default=1.1, help="the largest ratio that is good enough")
    options = parser.parse_args()
    import numpy as np
    import tensorflow as tf

    with tempfile.TemporaryDirectory() as folder:
        ours, theirs, peers = {}, {}, {}
        for turn in range(options.rounds):
            for name, ms in weir_times(options.weir, options.filter, options.seconds, folder).items():
                ours[name] = min(ours.get(name, ms), ms)
            for name in ours:
                if name not in peers:
                    peers[name] = TensorFlowOp(tf, np, pathlib.Path(folder) / f"{name}.pb")
                theirs[name] = min(theirs.get(name, float("inf")), best(peers[name].call, options.seconds))
    print("| operation | TensorFlow, ms | weir, ms | ratio |\n|---|---|---|---|")
    for name in ours:
        print(f"| {name} | {theirs[name]:.3f} | {ours[name]:.3f} | {ours[name] / theirs[name]:.2f} |")
    slow = [name for name in ours if ours[name] > options.goal * theirs[name]]
    print(f"\n{len(ours) - len(slow)} of {len(ours)} within {options.goal}; above: {', '.join(slow) or 'none'}")


if __name__ == "__main__":
    main()
