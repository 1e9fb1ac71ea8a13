"""Protocol buffers under TensorFlow's names, Examples written and parsed. Values are TensorFlow's."""

import os
import tempfile
import unittest

import numpy as np

import weir as tf
from weir import _alias

_alias.install()


def _needs_protobuf(test):
    try:
        import google.protobuf  # noqa: F401
    except ImportError:
        return unittest.skip("the package protobuf is not installed")(test)
    return test


def _example(i):
    feature = tf.train.Feature
    return tf.train.Example(features=tf.train.Features(feature={
        "a": feature(int64_list=tf.train.Int64List(value=[i, i + 1])),
        "v": feature(float_list=tf.train.FloatList(value=[0.5] * i)),
        "s": feature(bytes_list=tf.train.BytesList(value=[b"x" * i])),
        "index": feature(int64_list=tf.train.Int64List(value=list(range(i))[::-1])),
        "lengths": feature(int64_list=tf.train.Int64List(value=[1] * i)),
        "ids": feature(int64_list=tf.train.Int64List(value=[0] * i))}))


@_needs_protobuf
class ProtosTest(unittest.TestCase):
    def test_modules_of_tensorflow(self):
        from tensorflow.core.framework import graph_pb2, types_pb2
        from tensorflow.core.protobuf import config_pb2
        from tensorflow.core.util import event_pb2
        self.assertIs(graph_pb2.GraphDef, tf.compat.v1.GraphDef)
        self.assertEqual(types_pb2.DT_FLOAT, 1)
        self.assertEqual(types_pb2.DataType.Name(3), "DT_INT32")
        self.assertEqual(config_pb2.RunOptions.FULL_TRACE, 3)
        self.assertEqual(event_pb2.Event(step=3).step, 3)
        self.assertEqual(str(graph_pb2.GraphDef), "<class 'tensorflow.core.framework.graph_pb2.GraphDef'>")

    def test_graph_def(self):
        with tf.Graph().as_default() as graph:
            tf.identity(tf.constant(1.0, name="a"), name="b")
        nodes = graph.as_graph_def().node
        self.assertEqual([n.name for n in nodes], ["a", "b"])
        self.assertEqual(list(nodes[1].input), ["a"])
        self.assertEqual(nodes[1].attr["T"].type, 1)
        self.assertEqual(graph.get_operation_by_name("b").node_def.op, "Identity")

    def test_tensor_protos(self):
        for value in (1, [1.5, 2.0], np.float16([1, 2]), np.complex64(1 + 2j), np.zeros([0, 3]), [True, False], np.int8(3)):
            np.testing.assert_array_equal(tf.make_ndarray(tf.make_tensor_proto(value)), np.asarray(value))
        proto = tf.make_tensor_proto(5.0, shape=[2, 2])
        self.assertEqual(list(proto.float_val), [5.0])
        self.assertEqual(tf.make_ndarray(proto).tolist(), [[5.0, 5.0], [5.0, 5.0]])
        self.assertEqual(tf.make_tensor_proto([1.5, 2.0]).tensor_content, b"\0\0\300?\0\0\0@")
        self.assertEqual(tf.make_ndarray(tf.make_tensor_proto(["x", b"y"])).tolist(), [b"x", b"y"])

    def test_parse_example(self):
        serialized = [_example(i).SerializeToString() for i in (1, 3, 2)]
        parsed = tf.io.parse_example(serialized, {
            "a": tf.io.FixedLenFeature([2], tf.int64), "m": tf.io.FixedLenFeature([], tf.float32, default_value=7.0),
            "v": tf.io.VarLenFeature(tf.float32),
            "w": tf.io.FixedLenSequenceFeature([], tf.int64, allow_missing=True)})
        self.assertEqual(parsed["a"].numpy().tolist(), [[1, 2], [3, 4], [2, 3]])
        self.assertEqual(parsed["m"].numpy().tolist(), [7, 7, 7])
        self.assertEqual(parsed["v"].dense_shape.numpy().tolist(), [3, 3])
        self.assertEqual(parsed["w"].shape, [3, 0])
        sparse = tf.io.parse_example(serialized, {"s": tf.io.SparseFeature("index", "v", tf.float32, 10)})["s"]
        self.assertEqual(sparse.indices.numpy().tolist(), [[0, 0], [1, 0], [1, 1], [1, 2], [2, 0], [2, 1]])
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "zz"):
            tf.io.parse_example(serialized, {"zz": tf.io.FixedLenFeature([2], tf.int64)})

    def test_ragged_features(self):
        serialized = [_example(i).SerializeToString() for i in (1, 3, 2)]
        kinds = tf.io.RaggedFeature
        parsed = tf.io.parse_example(serialized, {
            "r": kinds(tf.float32, value_key="v"),
            "lengths_of": kinds(tf.float32, value_key="v", partitions=[kinds.RowLengths("lengths")]),
            "ids_of": kinds(tf.float32, value_key="v", partitions=[kinds.ValueRowIds("ids")])})
        self.assertEqual(parsed["r"].to_list(), [[0.5], [0.5, 0.5, 0.5], [0.5, 0.5]])
        self.assertEqual(parsed["lengths_of"].to_list(), [[[0.5]], [[0.5], [0.5], [0.5]], [[0.5], [0.5]]])
        self.assertEqual(parsed["ids_of"].to_list(), [[[0.5]], [[0.5, 0.5, 0.5]], [[0.5, 0.5]]])
        self.assertEqual(parsed["ids_of"].row_splits.dtype, tf.int32)

    def test_sequence_examples(self):
        example = tf.train.SequenceExample()
        example.context.feature["id"].int64_list.value.append(5)
        for i in range(3):
            example.feature_lists.feature_list["t"].feature.add().float_list.value.extend([i, i + 0.5])
        context, lists = tf.io.parse_single_sequence_example(
            example.SerializeToString(), {"id": tf.io.FixedLenFeature([], tf.int64)},
            {"t": tf.io.FixedLenSequenceFeature([2], tf.float32)})
        self.assertEqual(int(context["id"]), 5)
        self.assertEqual(lists["t"].numpy().tolist(), [[0, 0.5], [1, 1.5], [2, 2.5]])
        _, _, lengths = tf.io.parse_sequence_example(
            [example.SerializeToString()] * 2, {}, {"t": tf.io.FixedLenSequenceFeature([2], tf.float32)})
        self.assertEqual(lengths["t"].numpy().tolist(), [3, 3])

    def test_records(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.tfrecord")
            with tf.io.TFRecordWriter(path) as writer:
                for i in range(3):
                    writer.write(_example(i).SerializeToString())
            read = [tf.train.Example.FromString(r.numpy()) for r in tf.data.TFRecordDataset(path)]
        self.assertEqual([e.features.feature["a"].int64_list.value[0] for e in read], [0, 1, 2])


if __name__ == "__main__":
    unittest.main()
