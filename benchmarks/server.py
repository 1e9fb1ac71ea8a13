#!/usr/bin/env python3
"""TensorFlow's own client against weir's server and against TensorFlow's, side by side in one run.

    python3 benchmarks/server.py --weir build/release/bin/weir [--rounds 5] [--seconds 1]

The interpreter must have TensorFlow. Both servers are processes of this machine with two threads; one client process
measures them by turns, and the least time of each counts.
"""
import argparse
import os
import subprocess
import sys

from timing import best

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

PEER = """
import socket, tensorflow as tf
with socket.socket() as s:
    s.bind(("127.0.0.1", 0))
    address = "127.0.0.1:%d" % s.getsockname()[1]
config = tf.compat.v1.ConfigProto(intra_op_parallelism_threads=2, inter_op_parallelism_threads=2)
server = tf.distribute.Server({"worker": [address]}, job_name="worker", task_index=0, config=config)
print("grpc://" + address, flush=True)
server.join()
"""


def start(command):
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    for line in process.stdout:
        if line.startswith("grpc://"):
            return process, line.split()[0]
    raise SystemExit(f"{command[0]} did not start")


def calls(tf, target, threads=2):
    """A session, and what is measured, by name: each a function of no arguments."""
    v1 = tf.compat.v1
    graph = tf.Graph()
    with graph.as_default():
        constant = tf.constant(1.0)
        feed = v1.placeholder(tf.float32, ())
        add = tf.add(feed, 1.0)
        value = tf.Variable(tf.random.uniform((25_000_000,)))
        read = value.read_value()
        initialize = v1.global_variables_initializer()
    config = v1.ConfigProto(intra_op_parallelism_threads=threads, inter_op_parallelism_threads=threads)
    session = v1.Session(target, graph, config)
    session.run(initialize)
    fetch = session.make_callable(read)
    return session, {
        "call_constant": lambda: session.run(constant),
        "call_add": lambda: session.run(add, {feed: 1.0}),
        "fetch_worker_client": fetch,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weir", required=True, help="the program")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0, help="of each server, workload and round")
    options = parser.parse_args()
    import tensorflow as tf

    servers = {"TensorFlow": [sys.executable, "-c", PEER], "weir": [options.weir, "server", "--port", "0"]}
    processes, sessions, peers = [], [], {}
    try:
        for name, command in servers.items():
            process, target = start(command)
            processes.append(process)
            session, peers[name] = calls(tf, target)
            sessions.append(session)
        least = {}
        for _ in range(options.rounds):
            for workload in peers["weir"]:
                for name in servers:
                    ms = best(peers[name][workload], options.seconds)
                    least[workload, name] = min(ms, least.get((workload, name), ms))
    finally:
        for session in sessions:  # the client would wait for a server that is gone
            session.close()
        for process in processes:
            process.kill()
    print("| workload | TensorFlow, ms | weir, ms | ratio |\n|---|---|---|---|")
    for workload in peers["weir"]:
        theirs, ours = least[workload, "TensorFlow"], least[workload, "weir"]
        print(f"| {workload} | {theirs:.3f} | {ours:.3f} | {ours / theirs:.2f} |")


if __name__ == "__main__":
    main()
