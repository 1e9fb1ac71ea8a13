"""Variables that are references, in graphs of sessions: `use_resource=False`."""

import os
import tempfile
import unittest

import numpy as np

import weir.compat.v1 as tf


class RefVariableTest(unittest.TestCase):
    def setUp(self):
        graph = tf.Graph().as_default()
        graph.__enter__()
        self.addCleanup(graph.__exit__, None, None, None)
        self.session = tf.Session()
        self.addCleanup(self.session.close)

    def variable(self, value=(1.0, 2.0), **options):
        made = tf.Variable(list(value) if isinstance(value, tuple) else value, use_resource=False, name="v", **options)
        self.session.run(made.initializer)
        return made

    def test_nodes_and_printed_forms(self):
        variable = self.variable()
        self.assertEqual([type(variable).__name__, variable.op.type, repr(variable)],
                         ["RefVariable", "VariableV2", "<tf.Variable 'v:0' shape=(2,) dtype=float32_ref>"])
        nodes = [node.name + ":" + node.op for node in tf.get_default_graph().as_graph_def().node]
        self.assertEqual(nodes, ["v/initial_value:Const", "v:VariableV2", "v/Assign:Assign", "v/read:Identity"])
        self.assertEqual(tf.Variable(1.0).op.type, "VarHandleOp")

    def test_assignments_give_the_reference(self):
        variable = self.variable()
        assigned = variable.assign([3.0, 4.0])
        self.assertEqual(str(assigned), 'Tensor("Assign:0", shape=(2,), dtype=float32_ref)')
        for op, expected in ((assigned, [3, 4]), (variable.assign_add([1.0, 1.0]), [4, 5]),
                             (tf.scatter_add(variable, [0], [5.0]), [9, 5]), (tf.assign_sub(variable, [1.0, 1.0]), [8, 4]),
                             (tf.scatter_nd_update(variable, [[1]], [7.0]), [8, 7])):
            np.testing.assert_array_equal(self.session.run(op), expected)
        with tf.control_dependencies([assigned]):
            after = tf.identity(variable._ref())
        np.testing.assert_array_equal(self.session.run(after), [3, 4])

    def test_optimizers(self):
        for optimizer, expected in ((tf.train.GradientDescentOptimizer(0.1), [0.64, 2, 1.92]),
                                    (tf.train.AdamOptimizer(0.1), [0.8004126, 2, 2.8001032])):
            with self.subTest(type(optimizer).__name__), tf.Graph().as_default(), tf.Session() as session:
                variable = tf.Variable([1.0, 2.0, 3.0], use_resource=False)
                train = optimizer.minimize(tf.reduce_sum(tf.gather(variable, [0, 2]) ** 2))
                session.run(tf.global_variables_initializer())
                session.run(train)
                session.run(train)
                np.testing.assert_allclose(session.run(variable), expected, rtol=1e-5)
                self.assertTrue(all(v.op.type == "VariableV2" for v in tf.global_variables()))

    def test_get_variable_in_a_scope_of_references(self):
        with tf.variable_scope("a", use_resource=False):
            variable = tf.get_variable("x", [2], initializer=tf.ones_initializer())
        with tf.variable_scope("a", reuse=True):
            self.assertIs(tf.get_variable("x", [2]), variable)
        self.session.run(variable.initializer)
        self.assertEqual(variable.op.type, "VariableV2")
        np.testing.assert_array_equal(self.session.run(tf.gradients(variable * variable, variable)[0]), [2, 2])

    def test_saver_and_meta_graph(self):
        variable = self.variable()
        saver = tf.train.Saver()
        with tempfile.TemporaryDirectory() as folder:
            path = saver.save(self.session, os.path.join(folder, "m"))
            self.session.run(variable.assign([9.0, 9.0]))
            saver.restore(self.session, path)
            np.testing.assert_array_equal(self.session.run(variable), [1, 2])
            with tf.Graph().as_default(), tf.Session() as session:
                tf.train.import_meta_graph(path + ".meta").restore(session, path)
                imported = tf.global_variables()[0]
                self.assertEqual(type(imported).__name__, "RefVariable")
                np.testing.assert_array_equal(session.run(imported), [1, 2])

    def test_without_a_value(self):
        variable = tf.Variable(0, use_resource=False, name="none")
        with self.assertRaisesRegex(tf.errors.FailedPreconditionError, "Attempting to use uninitialized value none"):
            self.session.run(variable)
        self.assertEqual(list(self.session.run(tf.report_uninitialized_variables())), [b"none"])
        self.assertFalse(self.session.run(tf.is_variable_initialized(variable)))

    def test_shapes_that_change(self):
        variable = self.variable(validate_shape=False)
        np.testing.assert_array_equal(self.session.run(tf.assign(variable, [1.0, 2.0, 3.0], validate_shape=False)), [1, 2, 3])
        with self.assertRaisesRegex(ValueError, "Dimension 0 in both shapes must be equal"):
            tf.assign(tf.Variable([1.0], use_resource=False), [1.0, 2.0])

    def test_protos(self):
        definition = self.variable().to_proto()
        self.assertEqual((definition.snapshot_name, definition.is_resource), ("v/read:0", False))
        self.assertEqual(tf.Variable.from_proto(definition).op.type, "VariableV2")


if __name__ == "__main__":
    unittest.main()
