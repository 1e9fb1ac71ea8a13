"""When gradients are exchanged: traces a training step of several processes.

    weir launch -n 2 -- python -m weir examples/python/horovod_trace.py --trace metadata.pb
    weir trace metadata.pb --svg step.svg

Of `--steps` traced steps, process 0 keeps the shortest, prints when its products and exchanges ran, and says how much of
the backward pass ran while a gradient was on its way.
"""

import argparse

import horovod.tensorflow as hvd
import numpy as np
import tensorflow.compat.v1 as tf

parser = argparse.ArgumentParser()
parser.add_argument("--layers", type=int, default=6)
parser.add_argument("--width", type=int, default=768)
parser.add_argument("--batch", type=int, default=256)
parser.add_argument("--steps", type=int, default=20)
parser.add_argument("--trace", help="file for the step's RunMetadata")
options = parser.parse_args()

tf.disable_eager_execution()
hvd.init()
x = tf.placeholder(tf.float32, [options.batch, options.width])
hidden = x
for layer in range(options.layers):
    weights = tf.get_variable(f"weights{layer}", [options.width, options.width],
                              initializer=tf.random_normal_initializer(stddev=0.03))
    hidden = tf.nn.relu(tf.matmul(hidden, weights))
loss = tf.reduce_mean(tf.square(hidden))
train = hvd.DistributedOptimizer(tf.train.GradientDescentOptimizer(0.1)).minimize(loss)


def intervals(metadata, op):
    """When the operations of a kind ran, in microseconds."""
    return sorted((node.all_start_micros, node.all_start_micros + node.all_end_rel_micros)
                  for device in metadata.step_stats.dev_stats for node in device.node_stats
                  if f"= {op}(" in node.timeline_label)


def duration(metadata):
    nodes = [node for device in metadata.step_stats.dev_stats for node in device.node_stats]
    return max(node.all_start_micros + node.all_end_rel_micros for node in nodes) - min(
        node.all_start_micros for node in nodes)


config = tf.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=2)
with tf.Session(config=config) as session:
    session.run(tf.global_variables_initializer())
    data = np.random.rand(options.batch, options.width).astype(np.float32)
    for _ in range(10):
        session.run(train, {x: data})
    steps = []
    for _ in range(options.steps):
        steps.append(tf.RunMetadata())
        session.run(train, {x: data}, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE),
                    run_metadata=steps[-1])

if hvd.rank() == 0:
    best = min(steps, key=duration)
    products, exchanges = intervals(best, "MatMul"), intervals(best, "_ProcessAllReduce")
    begin = products[0][0]
    for name, each in (("product", products), ("exchange", exchanges)):
        for first, last in each:
            print(f"{name:8} {(first - begin) / 1000:8.2f} ms to {(last - begin) / 1000:8.2f} ms")
    # A process by itself exchanges nothing.
    during = sum(last - first for first, last in products if exchanges and first >= exchanges[0][0])
    backward = sum(last - first for first, last in products[options.layers:])
    print(f"{100 * during / backward:.0f} % of the backward pass's products ran while a gradient was on its way")
    if options.trace:
        with open(options.trace, "wb") as file:
            file.write(best.SerializeToString())
