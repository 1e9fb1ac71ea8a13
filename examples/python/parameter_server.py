"""Variables on parameter servers, steps by workers on their own: ParameterServerStrategy with a ClusterCoordinator.

TF_CONFIG says whether a process is the coordinator ("chief"), a worker or a parameter server. Without TF_CONFIG the
program starts a parameter server and two workers on this machine, and is the coordinator itself:

    python -m weir examples/python/parameter_server.py  # or with TensorFlow: python examples/python/parameter_server.py
"""

import argparse
import json
import os
import socket
import subprocess
import sys

import digits
import tensorflow as tf


def start_servers(cluster):
    """Starts this program as the cluster's workers and parameter servers; None if one of them cannot."""
    started = []
    for job, addresses in cluster.items():
        for i in range(len(addresses) if job != "chief" else 0):
            config = json.dumps({"cluster": cluster, "task": {"type": job, "index": i}})
            started.append(subprocess.Popen([sys.executable, *sys.orig_argv[1:]], stdout=subprocess.PIPE, text=True,
                                            env=dict(os.environ, TF_CONFIG=config)))
    if all([server.stdout.readline() == "ready\n" for server in started]):
        return started
    end(started)
    return None


def end(servers):
    for server in servers:
        server.kill()
        server.wait()


def start_cluster():
    """Starts servers at free ports of this machine; another program may be quicker to take one."""
    for _ in range(10):
        sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(4)]
        addresses = [f"localhost:{s.getsockname()[1]}" for s in sockets]
        for s in sockets:
            s.close()
        cluster = {"chief": addresses[:1], "ps": addresses[1:2], "worker": addresses[2:]}
        started = start_servers(cluster)
        if started is not None:
            os.environ["TF_CONFIG"] = json.dumps({"cluster": cluster, "task": {"type": "chief", "index": 0}})
            return started
    raise RuntimeError("the servers do not start")


def serve(resolver):
    server = tf.distribute.Server(resolver.cluster_spec(), job_name=resolver.task_type, task_index=resolver.task_id,
                                  protocol="grpc")
    print("ready", flush=True)
    server.join()


def coordinate(resolver, arguments):
    import keras
    keras.utils.set_random_seed(1)
    strategy = tf.distribute.ParameterServerStrategy(resolver)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        model = keras.Sequential([keras.Input((28, 28, 1)), keras.layers.Conv2D(8, 3, strides=2, activation="relu"),
                                  keras.layers.Flatten(), keras.layers.Dense(10)])
        optimizer = keras.optimizers.SGD(0.1)
        optimizer.build(model.trainable_variables)
    (x, y), (x_test, y_test) = digits.load(arguments.train, 500)

    def make_dataset():  # called for each worker
        dataset = tf.data.Dataset.from_tensor_slices((x, y))
        return dataset.shuffle(arguments.train).batch(arguments.batch, drop_remainder=True).repeat()

    @tf.function
    def step(iterator):
        def replica_step(pictures, labels):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, model(pictures, training=True)))
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
            return loss
        return strategy.reduce("SUM", strategy.run(replica_step, args=next(iterator)), axis=None)

    iterator = iter(coordinator.create_per_worker_dataset(make_dataset))
    means = []
    for _ in range(arguments.epochs):
        # Whichever worker is free takes the next step; none waits for another.
        losses = [coordinator.schedule(step, args=(iterator,)) for _ in range(arguments.steps)]
        coordinator.join()
        means.append(sum(loss.fetch() for loss in losses) / len(losses))
    right = tf.equal(tf.argmax(model(x_test), 1), y_test)
    print(f"{arguments.epochs * arguments.steps} steps: mean loss {means[0]:.3f} -> {means[-1]:.3f}, test accuracy "
          f"{float(tf.reduce_mean(tf.cast(right, tf.float32))):.1%}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--train", type=int, default=2000)
    parser.add_argument("--batch", type=int, default=50)
    arguments = parser.parse_args()
    started = [] if "TF_CONFIG" in os.environ else start_cluster()
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver(rpc_layer="grpc")
    if resolver.task_type in ("worker", "ps"):
        return serve(resolver)
    try:
        coordinate(resolver, arguments)
    finally:
        end(started)


if __name__ == "__main__":
    main()
