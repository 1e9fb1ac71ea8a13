"""tf.summary and tf.profiler: the event files that TensorBoard reads. Values are what TensorFlow writes."""

import glob
import os
import tempfile
import unittest

import numpy as np

import weir as tf


def _events(folder):
    return [tf.compat.v1.Event.FromString(r.numpy()) for path in sorted(glob.glob(folder + "/events*"))
            for r in tf.data.TFRecordDataset(path)]


class SummaryTest(unittest.TestCase):
    def setUp(self):
        try:
            import google.protobuf  # noqa: F401
        except ImportError:
            self.skipTest("the package protobuf is not installed")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def values(self):
        return {v.tag: (e.step, v) for e in _events(self.folder) for v in e.summary.value}

    def test_kinds(self):
        writer = tf.summary.create_file_writer(self.folder)
        with writer.as_default():
            self.assertTrue(bool(tf.summary.scalar("loss", 0.5, step=1, description="d")))
            tf.summary.histogram("h", [1.0, 2.0, 4.0], step=2, buckets=3)
            tf.summary.histogram("equal", [4.0, 4.0], step=2, buckets=2)
            tf.summary.image("image", np.zeros([5, 3, 4, 3], np.float32), step=3)
            tf.summary.text("text", "hello", step=4)
            tf.summary.audio("audio", np.zeros([1, 8, 1], np.float32), 8000, step=5)
            with tf.name_scope("outer"):
                tf.summary.scalar("in side", 2, step=6)
        writer.close()
        values = self.values()
        step, loss = values["loss"]
        self.assertEqual((step, float(tf.make_ndarray(loss.tensor)), loss.metadata.plugin_data.plugin_name,
                          loss.metadata.summary_description), (1, 0.5, "scalars", "d"))
        self.assertEqual(tf.make_ndarray(values["h"][1].tensor).tolist(), [[1, 2, 1], [2, 3, 1], [3, 4, 1]])
        self.assertEqual(tf.make_ndarray(values["equal"][1].tensor).tolist(), [[4, 4, 0], [4, 4, 2]])
        image = values["image"][1].tensor.string_val
        self.assertEqual((len(image), image[0], image[1], image[2][1:4]), (5, b"4", b"3", b"PNG"))
        self.assertEqual(values["text"][1].tensor.string_val[0], b"hello")
        self.assertEqual(values["audio"][1].tensor.string_val[0][:4], b"RIFF")
        self.assertIn("outer/in side", values)

    def test_steps_and_conditions(self):
        writer = tf.summary.create_file_writer(self.folder)
        step = tf.Variable(7, dtype=tf.int64)
        with writer.as_default(step):
            tf.summary.scalar("by variable", 1)
            with tf.summary.record_if(False):
                self.assertFalse(bool(tf.summary.scalar("never", 1)))
            with tf.summary.record_if(lambda: True):
                tf.summary.scalar("always", 1)
        with writer.as_default(), self.assertRaisesRegex(ValueError, "No step set"):
            tf.summary.scalar("x", 1)
        self.assertFalse(bool(tf.summary.scalar("no writer", 1, step=1)))
        values = self.values()
        self.assertEqual(values["by variable"][0], 7)
        self.assertEqual(sorted(values), ["always", "by variable"])

    def test_in_functions(self):
        writer = tf.summary.create_file_writer(self.folder)

        @tf.function
        def step(x, i):
            with writer.as_default():
                tf.summary.scalar("all", x, step=i)
                with tf.summary.record_if(tf.equal(i % 2, 0)):
                    tf.summary.scalar("even", x, step=i)
            return x
        with writer.as_default():
            tf.summary.trace_on()
            for i in range(4):
                step(tf.constant(float(i)), tf.constant(i, tf.int64))
            tf.summary.trace_export("trace", step=0)
            tf.summary.graph(step.get_concrete_function(tf.constant(0.0), tf.constant(0, tf.int64)).graph)
        writer.flush()
        events = _events(self.folder)
        steps = [(v.tag, e.step) for e in events for v in e.summary.value]
        self.assertEqual([s for tag, s in steps if tag == "all"], [0, 1, 2, 3])
        self.assertEqual([s for tag, s in steps if tag == "even"], [0, 2])
        trace = next(v for e in events for v in e.summary.value if v.tag == "trace")
        metadata = tf.compat.v1.RunMetadata.FromString(trace.tensor.string_val[0])
        self.assertEqual(len(metadata.function_graphs), 1)
        self.assertTrue(any(e.graph_def for e in events))

    def test_profile(self):
        @tf.function
        def f(x):
            return x + 1
        with tf.profiler.experimental.Profile(self.folder):
            with tf.profiler.experimental.Trace("region", step_num=3):
                f(tf.constant(1))
        files = glob.glob(os.path.join(self.folder, "plugins", "profile", "*", "*.xplane.pb"))
        self.assertEqual(len(files), 1)
        with open(files[0], "rb") as file:
            content = file.read()
        self.assertIn(b"region#step_num=3#", content)
        self.assertIn(b"__inference_f_", content)
        with self.assertRaises(tf.errors.UnavailableError):
            tf.profiler.experimental.stop()


if __name__ == "__main__":
    unittest.main()
