"""tf.saved_model: models written and loaded again, TensorFlow 1's files, frozen graphs."""

import os
import tempfile
import unittest

import numpy as np

import custom_gradient_cases
import weir as tf
from weir.framework import protos

v1 = tf.compat.v1


class Inner(tf.Module):
    def __init__(self):
        super().__init__()
        self.bias = tf.Variable([1.0, 2.0], name="bias", trainable=False)


class Model(tf.Module):
    def __init__(self, words):
        super().__init__()
        self.w = tf.Variable([[1.0, 2.0], [3.0, 4.0]], name="w")
        self.inner = Inner()
        self.parts = [tf.Variable(3), 5]
        self.named = {"x": tf.Variable(7.0)}
        self.constant = tf.constant([1.5] * 200)
        self.words = tf.lookup.StaticHashTable(tf.lookup.TextFileInitializer(
            words, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER), -1)

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32, name="x")])
    def forward(self, x):
        return {"y": tf.matmul(x, self.w) + self.inner.bias, "z": tf.reduce_sum(self.constant)}

    @tf.function
    def either(self, x, training=False, *, factor=2):
        return x * factor if training else x + self.named["x"]

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def look(self, words):
        return self.words.lookup(words)


class SavedModelTest(unittest.TestCase):
    def setUp(self):
        try:
            import google.protobuf  # noqa: F401
        except ImportError:
            self.skipTest("the package protobuf is not installed")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = os.path.join(folder.name, "model")
        self.words = os.path.join(folder.name, "words.txt")
        with open(self.words, "w") as file:
            file.write("a\nb\n")

    def saved(self):
        model = Model(self.words)
        model.either(tf.constant(1.0))
        model.either(tf.constant([1.0, 2.0]), training=True)
        model.w.assign_add(tf.ones([2, 2]))
        tf.saved_model.save(model, self.folder, signatures={"serving_default": model.forward, "look": model.look})
        os.remove(self.words)  # the model has its own copy
        return tf.saved_model.load(self.folder)

    def test_objects_and_functions(self):
        model = self.saved()
        self.assertTrue(tf.saved_model.contains_saved_model(self.folder))
        self.assertEqual(model.w.numpy().tolist(), [[2, 3], [4, 5]])
        self.assertEqual((model.w.name, model.inner.bias.trainable), ("w:0", False))
        self.assertEqual((int(model.parts[0]), float(model.named["x"])), (3, 7.0))
        self.assertEqual(model.forward([[1.0, 1.0]])["y"].numpy().tolist(), [[7, 10]])
        self.assertEqual(float(model.forward([[1.0, 1.0]])["z"]), 300)
        self.assertEqual(float(model.either(tf.constant(1.0))), 8)
        self.assertEqual(model.either(tf.constant([1.0, 2.0]), True).numpy().tolist(), [2, 4])
        with self.assertRaisesRegex(ValueError, "Could not find matching concrete function"):
            model.either(tf.constant([1]))
        self.assertEqual(model.look(tf.constant(["b", "c"])).numpy().tolist(), [1, -1])
        self.assertEqual(model.forward.input_signature, (tf.TensorSpec([None, 2], tf.float32, name="x"),))

    def test_a_module_that_is_called(self):
        class Scaled(tf.Module):
            @tf.function
            def __call__(self, x):
                return tf.reduce_sum(x) * 2.0

        model = Scaled()
        model([[1.0, 2.0]])
        model(tf.constant([3.0, 4.0]))
        with tempfile.TemporaryDirectory() as folder:
            tf.saved_model.save(model, folder)
            loaded = tf.saved_model.load(folder)
        self.assertEqual([float(loaded([[1.0, 2.0]])), float(loaded(tf.constant([5.0, 6.0])))], [6.0, 22.0])
        with self.assertRaisesRegex(ValueError, r"Option 1:\n  Positional arguments \(1 total\):\n    \* \[\[1.0, 2.0\]\]"):
            loaded([1.0])

    def test_signatures(self):
        signature = self.saved().signatures["serving_default"]
        self.assertEqual(signature.structured_input_signature,
                         ((), {"x": tf.TensorSpec([None, 2], tf.float32, name="x")}))
        self.assertEqual(signature.structured_outputs["y"], tf.TensorSpec([None, 2], tf.float32, name="y"))
        self.assertEqual(signature(x=tf.constant([[2.0, 0.0]]))["y"].numpy().tolist(), [[5, 8]])

    def test_gradients_and_tracing(self):
        model = self.saved()
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(model.forward(tf.constant([[1.0, 2.0]]))["y"])
        self.assertEqual(tape.gradient(loss, model.w).numpy().tolist(), [[1, 1], [2, 2]])

        @tf.function
        def twice(x):
            return model.forward(x)["y"] * 2
        self.assertEqual(twice(tf.constant([[1.0, 1.0]])).numpy().tolist(), [[14, 20]])
        model.w.assign(tf.zeros([2, 2]))
        self.assertEqual(model.forward([[1.0, 1.0]])["y"].numpy().tolist(), [[1, 2]])

    def test_custom_gradients(self):
        expected = dict(custom_gradient_cases.GRADIENTS, products_by_v=20.0, scaled_by_v=330.0)
        model = custom_gradient_cases.model(tf)
        self.assertEqual(custom_gradient_cases.gradients(tf, model), expected)
        tf.saved_model.save(model, self.folder)
        loaded = tf.saved_model.load(self.folder)
        self.assertEqual(custom_gradient_cases.gradients(tf, loaded), expected)
        tf.saved_model.save(loaded, self.folder + "2")
        again = tf.saved_model.load(self.folder + "2")
        self.assertEqual(custom_gradient_cases.gradients(tf, again), expected)

    def test_custom_gradients_of_tensorflow(self):
        model = tf.saved_model.load(os.path.join(os.path.dirname(__file__), "fixtures", "custom_gradients"))
        self.assertEqual(custom_gradient_cases.gradients(tf, model),
                         dict(custom_gradient_cases.GRADIENTS, products_by_v=20.0, scaled_by_v=330.0))

    def test_custom_gradients_in_tensorflows_form(self):
        tf.saved_model.save(custom_gradient_cases.model(tf), self.folder)
        with open(os.path.join(self.folder, "saved_model.pb"), "rb") as file:
            meta = protos.message("SavedModel").FromString(file.read()).meta_graphs[0]
        registered = {g.registered_op_type.encode(): g.gradient_func for g in meta.graph_def.library.registered_gradients}
        nodes = {n.attr["_gradient_op_type"].s: n for f in meta.graph_def.library.function for n in f.node_def
                 if "_gradient_op_type" in n.attr}
        self.assertEqual((len(nodes), set(nodes)), (5, set(registered)))
        for kind, node in nodes.items():
            self.assertFalse([a for a in node.attr if a.startswith("_gradient_") and a != "_gradient_op_type"])
            described = meta.object_graph_def.concrete_functions[registered[kind]]
            arguments = described.canonicalized_input_signature.tuple_value.values[0].tuple_value.values
            self.assertEqual(len(arguments), 1 + len(node.attr["T"].list.type))  # the operation itself comes first
            self.assertEqual(len(described.output_signature.list_value.values), len(node.attr["T"].list.type))

    def test_custom_gradients_may_be_left_out(self):
        tf.saved_model.save(custom_gradient_cases.model(tf), self.folder,
                            options=tf.saved_model.SaveOptions(experimental_custom_gradients=False))
        model = tf.saved_model.load(self.folder)
        self.assertEqual(model.scaled(tf.constant([1.0, 2.0])).numpy().tolist(), [2.0, 8.0])
        with self.assertRaises(LookupError), tf.GradientTape() as tape:
            tape.gradient(model.scaled(tf.constant([1.0])), model.v)

    def test_custom_gradients_that_cannot_be_traced(self):
        @tf.custom_gradient
        def untraceable(x):
            def gradient(dy):
                raise NotImplementedError("of this there is no gradient")
            return x * 2.0, gradient
        model = tf.Module()
        model.f = tf.function(untraceable, input_signature=[tf.TensorSpec([], tf.float32)])
        with self.assertRaisesRegex(ValueError, "of this there is no gradient"):
            tf.saved_model.save(model, self.folder)

    def test_loops_count_as_tensorflows_do(self):
        model = tf.Module()
        model.v = tf.Variable([2.0, 3.0])

        @tf.function(input_signature=[tf.TensorSpec([2], tf.float32)])
        def power(x):
            for _ in tf.range(3):
                x = tf.map_fn(lambda a: a * 2.0, x * model.v) / 2.0
            return x
        model.power = power
        x = tf.constant([1.0, 1.0])
        for name in ("1", "2"):  # the loops of a loaded model have what they need
            tf.saved_model.save(model, self.folder + name)
            with open(os.path.join(self.folder + name, "saved_model.pb"), "rb") as file:
                library = protos.message("SavedModel").FromString(file.read()).meta_graphs[0].graph_def.library
            functions = {f.signature.name: f for f in library.function}
            loops = [n for f in library.function for n in f.node_def if n.op in ("While", "StatelessWhile")]
            self.assertEqual(len(loops), 2)
            for loop in loops:
                body, cond = (functions[loop.attr[a].func.name] for a in ("body", "cond"))
                for part in (body, cond):
                    self.assertEqual([a.name.rstrip("_0123456789").split("_", 1)[1] for a in part.signature.input_arg[:2]],
                                     ["loop_counter", "maximum_iterations"])
                    self.assertEqual(len(part.signature.input_arg), len(loop.attr["T"].list.type))
                self.assertEqual(len(body.signature.output_arg), len(loop.attr["T"].list.type))
            model = tf.saved_model.load(self.folder + name)
            with tf.GradientTape() as tape:
                y = model.power(x)
            self.assertEqual(y.numpy().tolist(), [8.0, 27.0])
            self.assertEqual(tf.convert_to_tensor(tape.gradient(y, model.v)).numpy().tolist(), [12.0, 27.0])

    def test_fingerprint(self):
        self.saved()
        read = tf.saved_model.experimental.read_fingerprint
        first = read(self.folder)
        with open(os.path.join(self.folder, "variables", "variables.index"), "rb") as file:
            index = tf.fingerprint([file.read()]).numpy().tobytes()
        self.assertEqual(first.checkpoint_hash, int.from_bytes(index, "little"))
        self.assertEqual(first.singleprint(), "/".join(str(n) for n in (
            first.graph_def_program_hash, first.signature_def_hash, first.saved_object_graph_hash, first.checkpoint_hash)))
        self.assertEqual(first, read(self.folder))
        self.assertNotEqual(first, tf.saved_model.experimental.Fingerprint())
        model = tf.Module()
        model.f = tf.function(lambda x: x + 1.0, input_signature=[tf.TensorSpec([], tf.float32)])
        tf.saved_model.save(model, self.folder + "2")
        other = read(self.folder + "2")
        model.f = tf.function(lambda x: x + 1.0, input_signature=[tf.TensorSpec([], tf.float32)])
        tf.saved_model.save(model, self.folder + "3")
        self.assertNotEqual(first.graph_def_program_hash, other.graph_def_program_hash)
        self.assertEqual(other.graph_def_program_hash, read(self.folder + "3").graph_def_program_hash)
        with self.assertRaises(FileNotFoundError):
            read(self.folder + "4")

    def test_the_only_function_with_a_signature_serves(self):
        class Two(tf.Module):
            @tf.function(input_signature=[tf.TensorSpec([None, 2])])
            def __call__(self, x):
                return x * 2.0

            @tf.function
            def other(self, x):
                return x
        model = Two()
        model.other(tf.constant(1.0))
        tf.saved_model.save(model, self.folder)
        loaded = tf.saved_model.load(self.folder)
        self.assertEqual(list(loaded.signatures), ["serving_default"])
        with self.assertRaisesRegex(TypeError, r"Can not cast TensorSpec\(shape=\(1, 3\)"):
            loaded(tf.ones([1, 3]))

    def test_saved_again(self):
        model = self.saved()
        again = self.folder + "2"
        tf.saved_model.save(model, again, signatures=model.signatures["serving_default"])
        loaded = tf.saved_model.load(again)
        self.assertEqual(loaded.signatures["serving_default"](x=tf.constant([[1.0, 1.0]]))["y"].numpy().tolist(), [[7, 10]])
        self.assertEqual(loaded.look(tf.constant(["b"])).numpy().tolist(), [1])

    def test_into_a_session(self):
        self.saved()
        with tf.Graph().as_default(), v1.Session() as session:
            meta = v1.saved_model.load(session, ["serve"], self.folder)
            signature = meta.signature_def["serving_default"]
            self.assertEqual(session.run(signature.outputs["y"].name, {signature.inputs["x"].name: [[1, 1]]}).tolist(),
                             [[7, 10]])
            signature = meta.signature_def["look"]
            self.assertEqual(session.run(signature.outputs["output_0"].name,
                                         {signature.inputs["words"].name: ["b"]}).tolist(), [1])

    def test_keras_export(self):
        from weir import _alias
        _alias.install()
        os.environ.setdefault("KERAS_BACKEND", "tensorflow")
        try:
            import keras
        except ImportError:
            self.skipTest("Keras is not installed")
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="relu"), keras.layers.Dense(2)])
        x = np.linspace(0, 1, 8).reshape(2, 4).astype("float32")
        expected = np.asarray(model(x))
        model.export(self.folder, verbose=False)
        loaded = tf.saved_model.load(self.folder)
        np.testing.assert_allclose(loaded.serve(x).numpy(), expected, rtol=1e-5)
        self.assertEqual(len(loaded.variables), 4)
        layer = keras.layers.TFSMLayer(self.folder, call_endpoint="serving_default")
        np.testing.assert_allclose(np.asarray(layer(x)["output_0"]), expected, rtol=1e-5)

    def test_frozen_function(self):
        from weir.saved_model.freeze import convert_variables_to_constants_v2
        w = tf.Variable([[2.0]])
        function = tf.function(lambda x: tf.matmul(x, w), input_signature=[tf.TensorSpec([None, 1], tf.float32)])
        frozen = convert_variables_to_constants_v2(function.get_concrete_function())
        w.assign([[5.0]])
        self.assertEqual(frozen(tf.constant([[3.0]]))[0].numpy().tolist(), [[6]])
        self.assertEqual(len(frozen.variables), 0)

    def test_untracked_resource(self):
        variable = tf.Variable(1.0)
        model = tf.Module()
        model.f = tf.function(lambda x: x * variable, input_signature=[tf.TensorSpec([], tf.float32)])
        with self.assertRaisesRegex(AssertionError, "untracked"):
            tf.saved_model.save(model, self.folder)

    def test_of_tensorflow_1(self):
        with tf.Graph().as_default() as graph, v1.Session() as session:
            x = v1.placeholder(tf.float32, [None, 2], name="x")
            w = v1.get_variable("w", [2, 1], initializer=v1.ones_initializer())
            y = tf.identity(tf.matmul(x, w), name="y")
            session.run(v1.global_variables_initializer())
            v1.saved_model.simple_save(session, self.folder, {"x": x}, {"y": y})
            frozen = v1.graph_util.convert_variables_to_constants(session, graph.as_graph_def(), ["y"])
        self.assertNotIn("VarHandleOp", [n.op for n in frozen.node])
        with tf.Graph().as_default(), v1.Session() as session:
            result, = tf.graph_util.import_graph_def(frozen, input_map={"x:0": tf.constant([[3.0, 4.0]])},
                                                     return_elements=["y:0"], name="frozen")
            self.assertEqual(result.name, "frozen/y:0")
            self.assertEqual(session.run(result).tolist(), [[7]])
        loaded = tf.saved_model.load(self.folder)
        result = loaded.signatures["serving_default"](x=np.float32([[1, 1]]))
        self.assertEqual(result["y"].numpy().tolist(), [[2]])


if __name__ == "__main__":
    unittest.main()
