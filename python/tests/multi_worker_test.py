"""tf.distribute.MultiWorkerMirroredStrategy between real processes, and cluster resolvers."""

import importlib.util
import json
import os
import socket
import tempfile
import unittest
from unittest import mock

import weir as tf
from launching import DEADLINE, FOLDER, Processes, launch

LOST = """
import sys, weir as tf
options = tf.distribute.experimental.CommunicationOptions(timeout_seconds=float(sys.argv[1]))
strategy = tf.distribute.MultiWorkerMirroredStrategy(communication_options=options)
with strategy.scope():
    v = tf.Variable(1.0)
print("met", flush=True)
sys.stdin.readline()
try:
    while True:
        strategy.reduce("SUM", v.read_value(), axis=None)
except tf.errors.OpError as error:
    print(type(error).__name__, error.message, flush=True)
"""


PREEMPTED = """
import sys, weir as tf
strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    weight = tf.Variable(0.0)
checkpoint = tf.train.Checkpoint(weight=weight)
handler = tf.distribute.experimental.PreemptionCheckpointHandler(strategy.cluster_resolver, checkpoint, sys.argv[1])

@tf.function
def step():
    def one():
        weight.assign_add(tf.distribute.get_replica_context().all_reduce("SUM", 1.0))
    strategy.run(one)

print(handler.total_run_calls, weight.numpy(), flush=True)
while handler.total_run_calls < int(sys.argv[2]):
    handler.run(step)
print(handler.total_run_calls, weight.numpy(), flush=True)
"""


def free_addresses(count):
    """Addresses that nothing else uses now; on one host the workers only know each other by them."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    try:
        return [f"localhost:{s.getsockname()[1]}" for s in sockets]
    finally:
        for s in sockets:
            s.close()


def workers(count, **jobs):
    cluster = {"worker": free_addresses(count), **jobs}
    return [{"TF_CONFIG": json.dumps({"cluster": cluster, "task": {"type": "worker", "index": i}}),
             "WEIR_JOB": cluster["worker"][0]} for i in range(count)]


class MultiWorkerTest(unittest.TestCase):
    def output(self, command, variables):
        with Processes(command, variables) as started:
            done = [process.communicate(timeout=DEADLINE) for process in started]
            for process, (out, errors) in zip(started, done):
                self.assertEqual(process.returncode, 0, (out + errors)[-4000:])
            return [out for out, _ in done]

    def test_two_workers(self):
        self.output([os.path.join(FOLDER, "multi_worker_cases.py")], workers(2))

    def test_workers_with_different_host_names_use_the_network(self):
        for _ in range(5):
            variables = workers(2)
            for own in variables:
                own["TF_CONFIG"] = own["TF_CONFIG"].replace("localhost", "127.0.0.1", 1)
            with Processes([os.path.join(FOLDER, "multi_worker_cases.py")], variables) as (first, second):
                out, errors = first.communicate(timeout=DEADLINE)
                if first.returncode != 0 and "in use" in errors:
                    continue  # another process was quicker to take the port
                self.assertEqual(first.returncode, 0, (out + errors)[-4000:])
                out, errors = second.communicate(timeout=DEADLINE)
                self.assertEqual(second.returncode, 0, (out + errors)[-4000:])
                return
        self.fail("no free port")

    def test_started_by_the_launcher(self):
        code = ("import weir as tf; s = tf.distribute.MultiWorkerMirroredStrategy();"
                "print(s.num_replicas_in_sync, float(s.reduce('SUM', tf.constant(2.0), axis=None)))")
        done = launch(3, "-c", code)
        self.assertEqual(sorted(done.stdout.split("\n")), ["", "[0] 3 6.0", "[1] 3 6.0", "[2] 3 6.0"], done.stderr[-3000:])

    @unittest.skipUnless(importlib.util.find_spec("keras"), "Keras is not installed: pip install keras")
    def test_two_workers_train_as_one_on_the_joined_batch(self):
        program = ["-m", "weir", os.path.join(FOLDER, "multi_worker_program.py")]
        one = json.loads(self.output([*program, "1"], [{}])[0])
        for devices in ("1", "2"):
            for out in self.output([*program, devices], workers(2)):
                two = json.loads(out)
                self.assertEqual(len(two["steps"]), 100)
                for name, expected in one.items():
                    for a, b in zip(expected, two[name]):
                        self.assertAlmostEqual(a, b, delta=5e-5 * max(1, abs(a)), msg=name)
        self.assertLess(one["steps"][-1], 0.5 * one["steps"][0])

    def test_a_lost_worker_is_an_error(self):
        with Processes(["-c", LOST, "250"], workers(2)) as (first, second):
            self.assertEqual((first.stdout.readline(), second.stdout.readline()), ("met\n", "met\n"))
            second.kill()
            second.wait()
            first.stdin.write("go\n")
            first.stdin.flush()
            self.assertRegex(first.stdout.readline(), "^UnavailableError .*Rank 1 .*has died")

    def test_a_worker_that_does_not_come_to_a_collective_is_an_error(self):
        with Processes(["-c", LOST, "2"], workers(2)) as (first, second):
            self.assertEqual((first.stdout.readline(), second.stdout.readline()), ("met\n", "met\n"))
            first.stdin.write("go\n")
            first.stdin.flush()
            self.assertRegex(first.stdout.readline(), "^DeadlineExceededError .*ranks 1")

    def test_workers_that_are_told_to_end_save_the_same_step(self):
        with tempfile.TemporaryDirectory() as folder:
            with Processes(["-c", PREEMPTED, folder, "1000000000"], workers(2)) as started:
                for process in started:
                    self.assertEqual(process.stdout.readline(), "0 0.0\n")
                started[1].terminate()  # one of them is enough
                for process in started:
                    _, errors = process.communicate(timeout=DEADLINE)
                    self.assertEqual(process.returncode, 42, errors[-3000:])
            with Processes(["-c", PREEMPTED, folder, "0"], workers(2)) as started:
                lines = [process.communicate(timeout=DEADLINE)[0].splitlines()[0] for process in started]
        calls, weight = lines[0].split()
        self.assertEqual((lines[0], float(weight)), (lines[1], 2.0 * int(calls)))
        self.assertGreater(int(calls), 0)

    def test_a_worker_that_does_not_start_is_an_error(self):
        code = LOST.replace("strategy = ", "try:\n  strategy = ").replace(
            "with strategy.scope",
            "except tf.errors.DeadlineExceededError as e:\n  print(e.message); sys.exit()\nwith strategy.scope")
        self.assertRegex(self.output(["-c", code, "1"], workers(2)[:1])[0], "these ranks of 2 have not come: 1")

    def test_a_cluster_that_makes_no_sense(self):
        def make(config):
            with mock.patch.dict(os.environ, TF_CONFIG=json.dumps(config)):
                return tf.distribute.MultiWorkerMirroredStrategy()
        with self.assertRaises(ValueError):  # no task
            make({"cluster": {"worker": ["a:1", "b:1"]}})
        with self.assertRaises(ValueError):  # no such task
            make({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 3}})
        with self.assertRaises(ValueError):
            make({"cluster": {"worker": ["a:1"], "ps": ["b:1"]}, "task": {"type": "worker", "index": 0}})
        alone = make({"cluster": {"worker": ["a:1"]}, "task": {"type": "evaluator", "index": 0}})
        self.assertEqual((alone.num_replicas_in_sync, alone.extended._in_multi_worker_mode()), (1, False))


class ResolverTest(unittest.TestCase):
    def test_tf_config(self):
        config = {"cluster": {"chief": ["c:1"], "worker": ["a:1", "b:2"]}, "task": {"type": "worker", "index": 1},
                  "rpc_layer": "grpc"}
        with mock.patch.dict(os.environ, TF_CONFIG=json.dumps(config)):
            resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
            self.assertEqual((resolver.master(), resolver.rpc_layer, resolver.task_type, resolver.task_id),
                             ("grpc://b:2", "grpc", "worker", 1))
            self.assertEqual(str(resolver.cluster_spec()), "ClusterSpec({'chief': ['c:1'], 'worker': ['a:1', 'b:2']})")
        with mock.patch.dict(os.environ, TF_CONFIG="{}"):
            resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
            self.assertEqual((resolver.master(), resolver.task_type, resolver.task_id), ("", None, None))

    def test_simple_and_union(self):
        resolvers = tf.distribute.cluster_resolver
        spec = tf.train.ClusterSpec
        simple = resolvers.SimpleClusterResolver(spec({"worker": ["a:1", "b:2"]}), task_type="worker", task_id=1,
                                                 rpc_layer="grpc")
        self.assertEqual((simple.master("worker", 0), simple.rpc_layer, simple.num_accelerators()), ("grpc://a:1", "grpc", {}))
        union = resolvers.UnionResolver(resolvers.SimpleClusterResolver(spec({"worker": ["a:1"]})),
                                        resolvers.SimpleClusterResolver(spec({"ps": ["b:2"], "worker": ["x:1"]})))
        self.assertEqual(str(union.cluster_spec()), "ClusterSpec({'ps': ['b:2'], 'worker': ['a:1', 'x:1']})")
        with self.assertRaises(TypeError):
            resolvers.SimpleClusterResolver({"worker": ["a:1"]})

    def test_slurm(self):
        step = {"SLURM_PROCID": "3", "SLURM_STEP_NUM_TASKS": "5", "SLURM_STEP_NODELIST": "n[1-3]",
                "SLURM_STEP_TASKS_PER_NODE": "2(x2),1"}
        with mock.patch.dict(os.environ, step):
            resolver = tf.distribute.cluster_resolver.SlurmClusterResolver({"worker": 3, "ps": 2})
            self.assertEqual(resolver.cluster_spec().as_dict(), {"ps": ["n1:8888", "n1:8889"],
                                                                 "worker": ["n2:8888", "n2:8889", "n3:8888"]})
            self.assertEqual(resolver.get_task_info(), ("worker", 1))
            self.assertEqual(tf.distribute.cluster_resolver.SlurmClusterResolver().master(), "grpc://n2:8889")
            with self.assertRaises(RuntimeError):
                tf.distribute.cluster_resolver.SlurmClusterResolver({"worker": 2})
        with self.assertRaises(RuntimeError):
            tf.distribute.cluster_resolver.SlurmClusterResolver()

    def test_kubernetes(self):
        def pod(name, address, phase="Running"):
            return mock.Mock(status=mock.Mock(phase=phase, host_ip=address), metadata=mock.Mock(**{"name": name}))

        def named(pods):
            for made, name in pods:
                made.metadata.name = name
            return mock.Mock(items=[made for made, _ in pods])
        client = mock.Mock()
        client.list_pod_for_all_namespaces.return_value = named([(pod("b", "10.0.0.2"), "b"), (pod("a", "10.0.0.1"), "a")])
        resolver = tf.distribute.cluster_resolver.KubernetesClusterResolver(
            {"worker": ["job-name=mine"]}, override_client=client)
        self.assertEqual(resolver.cluster_spec().as_dict(), {"worker": ["10.0.0.1:8470", "10.0.0.2:8470"]})
        self.assertEqual(resolver.master("worker", 1), "grpc://10.0.0.2:8470")
        client.list_pod_for_all_namespaces.return_value = named([(pod("a", "10.0.0.1", "Pending"), "a")])
        with self.assertRaisesRegex(RuntimeError, "Pending"):
            resolver.cluster_spec()

    def test_lists_of_hosts(self):
        from weir.distribute.slurm import expand_hosts, expand_tasks
        for text, hosts in {"n1": "n1", "n[1-2],m5,o[3-4,6,7-9]": "n1 n2 m5 o3 o4 o6 o7 o8 o9", "x[099-101]": "x099 x100 x101",
                            "node[08-11]": "node08 node09 node10 node11", "a[5,1]": "a5 a1", "n1,,n2,": "n1 n2", "": "",
                            "rack[1-2]n[1-2]": "rack1n1 rack1n2 rack2n1 rack2n2", "[1-3]": "1 2 3"}.items():
            self.assertEqual(expand_hosts(text), hosts.split())
        for text in ("node[0-2]-ib", "n[3-1]", "n[]", "n[a-b]", "n[1-2", "n1-2]", "n[1-2]]", "n[1-[2]]", "n[1--2]"):
            with self.assertRaises(ValueError, msg=text):
                expand_hosts(text)
        self.assertEqual(expand_tasks("3(x2),2,1"), [3, 3, 2, 1])
        for text in ("(x2)", "2(x)", "2(3)", "a", "2(x3", ""):
            with self.assertRaises(ValueError, msg=text):
                expand_tasks(text)


if __name__ == "__main__":
    unittest.main()
