"""Graphs and sessions of compat.v1, and `python -m weir`."""

import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import weir as tf

v1 = tf.compat.v1


class Sessions(unittest.TestCase):
    def test_feeds_and_fetches(self):
        with tf.Graph().as_default(), v1.Session() as session:
            x = v1.placeholder(tf.float32, [None], name="x")
            y = x * 2.0 + 1.0
            self.assertEqual(session.run(y, {x: [1, 2]}).tolist(), [3.0, 5.0])
            out = session.run({"a": y, "b": [x, "x:0"]}, {"x:0": [4]})
            self.assertEqual((out["a"].tolist(), out["b"][1].tolist()), ([9.0], [4.0]))
            with self.assertRaises(ValueError):
                session.run(y, {x: [[1.0]]})
            with self.assertRaises(tf.errors.InvalidArgumentError):
                session.run(y)

    def test_loops_return_what_their_bodies_do(self):
        pair = lambda: v1.while_loop(lambda i, j: i < 3, lambda i, j: (i + 1, {"sum": j["sum"] + i}),  # noqa: E731
                                     [tf.constant(0), {"sum": tf.constant(1)}])
        single = lambda: v1.while_loop(lambda i: i < 3, lambda i: i + 1, [tf.constant(0)])  # noqa: E731
        self.addCleanup(v1.enable_control_flow_v2)
        for switch, kind in ((v1.disable_control_flow_v2, tuple), (v1.enable_control_flow_v2, list)):
            switch()
            with tf.Graph().as_default(), v1.Session() as session:
                made = pair()
                self.assertIs(type(made), kind)
                self.assertEqual(session.run([made, single()]), [kind([3, {"sum": 4}]), 3])
                self.assertIs(type(tf.while_loop(lambda i: i < 3, lambda i: [i + 1], (0,))), list if kind is tuple else tuple)
                in_function = []
                tf.function(lambda: in_function.append(pair()))()
                self.assertIs(type(in_function[0]), list)

    def test_the_default_graph_is_not_reset_in_a_session(self):
        with v1.Session(graph=tf.Graph()):
            self.assertRaises(AssertionError, v1.reset_default_graph)
        v1.reset_default_graph()
        with v1.Session():
            self.assertRaises(AssertionError, v1.reset_default_graph)
        v1.reset_default_graph()
        self.assertEqual(v1.get_default_graph().get_operations(), [])

    def test_errors_name_their_operation(self):
        with tf.Graph().as_default(), v1.Session() as session:
            x = v1.placeholder(tf.float32, [None], name="x")
            with self.assertRaises(tf.errors.InvalidArgumentError) as caught:
                session.run(x * 2.0)
            self.assertEqual((caught.exception.op.name, caught.exception.node_def.op), ("x", "Placeholder"))
            self.assertRegex(caught.exception.message, "(?s)^Graph execution error:\n\nDetected at node 'x' defined at .*\n"
                                                       "Node: 'x'\nYou must feed a value for placeholder tensor 'x'")
            with self.assertRaisesRegex(TypeError, "^Cannot interpret feed_dict key as Tensor: The name 'no:0' refers"):
                session.run(x, {"no:0": 1})
            with self.assertRaisesRegex(TypeError, "Argument `fetch` = None has invalid type"):
                session.run(None)

    def test_operations_go_to_the_graph_of_their_inputs(self):
        with tf.Graph().as_default() as graph:
            x = tf.constant([1.0, 2.0], name="x")
        with tf.Graph().as_default() as other:
            y = tf.raw_ops.Neg(x=x)
        self.assertIs(y.graph, graph)
        self.assertEqual(other.get_operations(), [])

    def test_sessions_keep_their_variables(self):
        with tf.Graph().as_default():
            v = v1.Variable(1.0, name="v")
            with v1.Session() as first, v1.Session() as second:
                first.run(v1.global_variables_initializer())
                with self.assertRaises(tf.errors.FailedPreconditionError):
                    second.run(v)

    def test_sparse_and_ragged_values(self):
        with tf.Graph().as_default(), v1.Session() as session:
            sparse = v1.sparse_placeholder(tf.float32)
            value = session.run(sparse, {sparse: v1.SparseTensorValue([[0, 1]], [2.0], [1, 3])})
            self.assertEqual((value.indices.tolist(), value.values.tolist()), ([[0, 1]], [2.0]))
            ragged = session.run(tf.RaggedTensor.from_row_lengths(tf.constant([1, 2, 3]), [1, 2]))
            self.assertEqual(ragged.to_list(), [[1], [2, 3]])

    def test_training_by_hand(self):
        with tf.Graph().as_default(), v1.Session() as session:
            w = v1.Variable(1.0, name="w")
            x = v1.placeholder(tf.float32, [])
            loss = w * w * x
            gradient = tf.gradients(loss, [w])[0]
            step = w.assign_sub(0.5 * gradient)
            session.run(v1.global_variables_initializer())
            session.run(step, {x: 0.5})
            self.assertEqual(float(session.run(w)), 0.5)
            self.assertEqual([v.name for v in v1.trainable_variables()], ["w:0"])

    def test_uninitialized_variables_are_named(self):
        with tf.Graph().as_default(), v1.Session() as session:
            w = v1.Variable(1.0, name="weights")
            with self.assertRaises(tf.errors.FailedPreconditionError) as caught:
                session.run(w)
            self.assertIn("weights", str(caught.exception))

    def test_names_scopes_and_control_dependencies(self):
        graph = tf.Graph()
        with graph.as_default():
            with tf.name_scope("layer"):
                a = tf.constant(1.0, name="a")
                b = tf.constant(1.0, name="a")
            self.assertEqual((a.name, b.name), ("layer/a:0", "layer/a_1:0"))
            with tf.control_dependencies([a]):
                c = tf.identity(b)
            self.assertEqual([op.name for op in c.op.control_inputs], ["layer/a"])
            self.assertEqual(graph.get_tensor_by_name("layer/a:0").op.type, "Const")
            self.assertEqual(graph.get_operation_by_name("layer/a").outputs[0].name, "layer/a:0")
            with self.assertRaises(KeyError):
                graph.get_operation_by_name("nope")

    def test_shapes_are_inferred(self):
        with tf.Graph().as_default():
            x = v1.placeholder(tf.float32, [None, 3])
            self.assertEqual(tf.matmul(x, tf.ones([3, 5])).shape.as_list(), [None, 5])
            self.assertEqual(tf.reshape(x, [-1, 1]).shape.as_list(), [None, 1])
            self.assertIsNone(v1.placeholder(tf.float32).shape.rank)


class Main(unittest.TestCase):
    def run_weir(self, program, *options):
        with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
            file.write(program)
            file.flush()
            done = subprocess.run([sys.executable, "-m", "weir", *options, file.name, "argument"], capture_output=True,
                                  text=True, env=os.environ)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def test_import_tensorflow_gives_weir(self):
        self.assertEqual(self.run_weir("import sys, tensorflow as tf\n"
                                       "from tensorflow.python.eager import context\n"
                                       "import tensorflow.math\n"
                                       "print(tf.add(1, 2).numpy(), tf.__version__, sys.argv[1])\n"), "3 2.21.0 argument")

    def test_tensorflow_1_programs(self):
        self.assertEqual(self.run_weir("import tensorflow as tf\n"
                                       "x = tf.placeholder(tf.float32, [2])\n"
                                       "w = tf.Variable([1.0, 2.0])\n"
                                       "with tf.Session() as session:\n"
                                       "    session.run(tf.global_variables_initializer())\n"
                                       "    print(session.run(w * x, {x: [3, 4]}))\n", "--tf1"), "[3. 8.]")

    def test_behavior_of_tensorflow_1(self):
        program = ("import tensorflow.compat.v1 as tf\n"
                   "tf.disable_v2_behavior()\n"
                   "x = tf.placeholder(tf.float32, [None, 3], name='x')\n"
                   "d = x.shape[1]\n"
                   "print(x, repr(x.shape), d.value, list(x.get_shape()), x.shape.as_list())\n"
                   "print(tf.reshape(x, [-1, d]).shape, tf.zeros([d * 2]).shape, tf.convert_to_tensor(d))\n"
                   "print(tf.split(x, d, 1)[0].shape, tf.get_variable('w', [x.shape[-1], 5]).shape, tf.TensorShape(None))\n"
                   "tf.enable_v2_tensorshape()\n"
                   "print(x.shape, x.shape[1])\n")
        self.assertEqual(self.run_weir(program).split("\n"), [
            'Tensor("x:0", shape=(?, 3), dtype=float32) TensorShape([Dimension(None), Dimension(3)]) 3 '
            '[Dimension(None), Dimension(3)] [None, 3]',
            '(?, 3) (6,) Tensor("shape_as_tensor:0", shape=(), dtype=int32)', "(?, 1) (3, 5) <unknown>", "(None, 3) 3"])

    def test_names_of_variables_in_programs_of_tensorflow_1(self):
        program = ("import tensorflow.compat.v1 as tf\n"
                   "tf.disable_v2_behavior()\n"
                   "w = tf.get_variable('w', initializer=[1.0, 2.0])\n"
                   "with tf.Session() as session:\n"
                   "    session.run(w.initializer)\n"
                   "    named = tf.get_default_graph().get_tensor_by_name('w:0')\n"
                   "    print(session.run(['w:0', 'w/read:0', named * 2]), {w: 1}[w], w == w)\n")
        self.assertEqual(self.run_weir(program), "[array([1., 2.], dtype=float32), array([1., 2.], dtype=float32), "
                         "array([2., 4.], dtype=float32)] 1 True")

    def test_variables_have_the_values_that_a_step_leaves(self):
        program = ("import tensorflow.compat.v1 as tf\n"
                   "tf.disable_v2_behavior()\n"
                   "step = tf.train.get_or_create_global_step()\n"
                   "w = tf.get_variable('w', [])\n"
                   "train = tf.train.GradientDescentOptimizer(1.0).minimize(tf.square(w), global_step=step)\n"
                   "with tf.Session() as session:\n"
                   "    try:\n"
                   "        session.run(w)\n"
                   "    except tf.errors.FailedPreconditionError as error:\n"
                   "        print(error.message.split('\\n')[0], 'Attempting to use uninitialized value w' in error.message)\n"
                   "    session.run([step.initializer, tf.assign(w, 2.0)])\n"
                   "    for _ in range(2):\n"
                   "        print(*session.run([train, step, w, 'w:0'])[1:])\n")
        self.assertEqual(self.run_weir(program).split("\n"),
                         ["Graph execution error: True", "1 -2.0 -2.0", "2 2.0 2.0"])

    def test_datasets_of_tensorflow_1(self):
        program = ("import tensorflow.compat.v1 as tf\n"
                   "tf.disable_v2_behavior()\n"
                   "def run(it, session):\n"
                   "    values, element = [], it.get_next()\n"
                   "    while True:\n"
                   "        try: values.append(session.run(element).tolist())\n"
                   "        except tf.errors.OutOfRangeError: return values\n"
                   "d = tf.data.Dataset.from_tensor_slices([1, 2, 3]).map(lambda x: x * 2).batch(2)\n"
                   "print(d.output_types, d.output_shapes, d.output_classes is tf.Tensor, repr(d)[:14])\n"
                   "with tf.Session() as session:\n"
                   "    print(run(d.make_one_shot_iterator(), session))\n"
                   "    it = d.make_initializable_iterator()\n"
                   "    session.run(it.initializer)\n"
                   "    print(run(it, session), hasattr(tf.data.TextLineDataset('x'), 'make_one_shot_iterator'))\n"
                   "import tensorflow\n"
                   "print(hasattr(tensorflow.data.Dataset.range(1), 'make_one_shot_iterator'))\n")
        self.assertEqual(self.run_weir(program).split("\n"), [
            "<dtype: 'int32'> (?,) True <_BatchDataset", "[[2, 4], [6]]", "[[2, 4], [6]] True", "False"])

    def test_import_starts_no_thread(self):
        code = "import weir, os; print(len(os.listdir('/proc/self/task')))"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                              env=dict(os.environ, OPENBLAS_NUM_THREADS="1"))
        self.assertEqual(done.stdout.strip(), "1", done.stderr)

    def test_fork_after_import(self):
        code = ("import weir as tf, os\npid = os.fork()\nprint(tf.add(1, 2).numpy() if pid == 0 else "
                "os.waitpid(pid, 0)[1], flush=True)")
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        self.assertEqual(done.stdout.split(), ["3", "0"], done.stderr)


if __name__ == "__main__":
    unittest.main()
