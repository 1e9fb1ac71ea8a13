"""tensorflow.python.data.kernel_tests.test_base: what tests of datasets compare, in graphs and eagerly."""

import os
import re

import numpy as np

import weir as tf
from weir.data import structure
from weir.framework import errors
from weir.framework.graph import executing_eagerly
from weir.internal.combinations import combine
from weir.test_case import TestCase

__all__ = ["DatasetTestBase", "default_test_combinations", "eager_only_combinations", "graph_only_combinations",
           "v1_only_combinations", "v2_eager_only_combinations", "v2_only_combinations"]


def default_test_combinations():
    return combine(tf_api_version=[1, 2], mode=["eager", "graph"])


def eager_only_combinations():
    return combine(tf_api_version=[1, 2], mode="eager")


def graph_only_combinations():
    return combine(tf_api_version=[1, 2], mode="graph")


def v1_only_combinations():
    return combine(tf_api_version=1, mode=["eager", "graph"])


def v2_only_combinations():
    return combine(tf_api_version=2, mode=["eager", "graph"])


def v2_eager_only_combinations():
    return combine(tf_api_version=2, mode="eager")


class DatasetTestBase(TestCase):
    """Compares what a dataset produces with what is expected."""

    def assert_op_cancelled(self, op):
        with self.assertRaises(errors.CancelledError):
            self.evaluate(op)

    def assertValuesEqual(self, expected, actual):
        """Two components of elements are equal."""
        if isinstance(expected, (tf.RaggedTensor, tf.compat.v1.ragged.RaggedTensorValue)):
            self.assertAllEqual(expected, actual)
        elif isinstance(actual, tf.compat.v1.SparseTensorValue):
            self.assertAllEqual(expected.indices, actual.indices)
            self.assertAllEqual(expected.values, actual.values)
            self.assertAllEqual(expected.dense_shape, actual.dense_shape)
        elif isinstance(actual, tf.SparseTensor):
            self.assertValuesEqual(self.evaluate(expected), self.evaluate(actual))
        else:
            if np.asarray(actual).dtype.kind in "OSU" or np.asarray(expected).dtype.kind in "OSU":
                expected = tf.compat.as_bytes(expected) if isinstance(expected, str) else expected
            self.assertAllEqual(expected, actual)

    def getNext(self, dataset, requires_initialization=False, shared_name=None):
        """A function that gives the next element, or in graphs the tensors of the next element."""
        def ta_wrapper(gn):
            def _wrapper():
                return structure.map_structure(lambda x: x.stack() if isinstance(x, tf.TensorArray) else x, gn())
            return _wrapper
        if executing_eagerly():
            iterator = iter(dataset)
            return ta_wrapper(iterator._next_internal if hasattr(iterator, "_next_internal") else iterator.get_next)
        if requires_initialization:
            iterator = tf.compat.v1.data.make_initializable_iterator(dataset, shared_name)
            self.evaluate(iterator.initializer)
        else:
            iterator = tf.compat.v1.data.make_one_shot_iterator(dataset)
        get_next = iterator.get_next()
        return ta_wrapper(lambda: get_next)

    def _compareOutputToExpected(self, result_values, expected_values, assert_items_equal):
        if assert_items_equal:
            self.assertItemsEqual(result_values, expected_values)
            return
        for result, expected in zip(result_values, expected_values):
            for left, right in zip(structure.flatten(result), structure.flatten(expected)):
                self.assertValuesEqual(right, left)

    def getDatasetOutput(self, dataset, requires_initialization=False):
        get_next = self.getNext(dataset, requires_initialization=requires_initialization)
        return self.getIteratorOutput(get_next)

    def getIteratorOutput(self, get_next):
        """All elements, evaluated."""
        results = []
        while True:
            try:
                results.append(self.evaluate(get_next()))
            except errors.OutOfRangeError:
                return results

    def assertDatasetProduces(self, dataset, expected_output=None, expected_shapes=None, expected_error=None,
                              requires_initialization=False, num_test_iterations=1, assert_items_equal=False,
                              expected_error_iter=1):
        """The dataset gives exactly `expected_output`, or raises `expected_error`, (class, regular expression)."""
        self.assertTrue(expected_error is not None or expected_output is not None,
                        "Exactly one of expected_output or expected error should be provided.")
        if expected_error:
            self.assertTrue(expected_output is None,
                            "Exactly one of expected_output or expected error should be provided.")
            with self.assertRaisesWithPredicateMatch(expected_error[0], expected_error[1]):
                get_next = self.getNext(dataset, requires_initialization=requires_initialization)
                for _ in range(expected_error_iter):
                    self.evaluate(get_next())
            return
        if expected_shapes:
            self.assertEqual(expected_shapes, tf.compat.v1.data.get_output_shapes(dataset))
        self.assertGreater(num_test_iterations, 0)
        for _ in range(num_test_iterations):
            get_next = self.getNext(dataset, requires_initialization=requires_initialization)
            result = []
            for _ in range(len(expected_output)):
                try:
                    result.append(self.evaluate(get_next()))
                except errors.OutOfRangeError as error:
                    raise AssertionError(f"Dataset ended early, producing {len(result)} elements out of "
                                         f"{len(expected_output)}. Dataset output: {result}") from error
            self._compareOutputToExpected(result, expected_output, assert_items_equal)
            with self.assertRaises(errors.OutOfRangeError):
                self.evaluate(get_next())
            with self.assertRaises(errors.OutOfRangeError):
                self.evaluate(get_next())

    def assertDatasetsEqual(self, dataset1, dataset2):
        """Two datasets have the same types and give the same elements."""
        self.assertTrue(tf.nest.map_structure(lambda a, b: a.is_compatible_with(b), dataset1.element_spec,
                                              dataset2.element_spec))
        next1, next2 = self.getNext(dataset1), self.getNext(dataset2)
        while True:
            try:
                one = self.evaluate(next1())
            except errors.OutOfRangeError:
                with self.assertRaises(errors.OutOfRangeError):
                    self.evaluate(next2())
                return
            two = self.evaluate(next2())
            for left, right in zip(structure.flatten(one), structure.flatten(two)):
                self.assertValuesEqual(left, right)

    def assertDatasetsRaiseSameError(self, dataset1, dataset2, exception_class, replacements=None):
        """Both raise the same error; `replacements` are pairs of what differs in its message."""
        messages = []
        for dataset in (dataset1, dataset2):
            get_next = self.getNext(dataset)
            with self.assertRaises(exception_class) as raised:
                self.evaluate(get_next())
            messages.append(re.sub(r"\{\{.*?\}\}|\[Op:.*|\[\[.*", "", str(raised.exception)).strip())
        for old, new in replacements or []:
            messages[0] = messages[0].replace(old, new)
        self.assertEqual(*messages)

    def structuredDataset(self, dataset_structure, shape=None, dtype=tf.int64):
        """A dataset whose elements have the structure that strings and tuples describe."""
        if shape is None:
            shape = []
        if dataset_structure is None or isinstance(dataset_structure, str) and dataset_structure == "":
            return tf.data.Dataset.from_tensors(tf.zeros(shape, dtype=dtype))
        return tf.data.Dataset.zip(tuple(self.structuredDataset(part, shape, dtype) for part in dataset_structure))

    def structuredElement(self, element_structure, shape=None, dtype=tf.int64):
        """An element with the structure that is given."""
        if shape is None:
            shape = []
        if element_structure is None:
            return tf.zeros(shape, dtype=dtype)
        return tuple(self.structuredElement(part, shape, dtype) for part in element_structure)

    def verifyRandomAccess(self, dataset, expected):
        """Elements by index are those expected, and there are no more."""
        self.verifyRandomAccessInfiniteCardinality(dataset, expected)
        with self.assertRaises(errors.OutOfRangeError):
            self.evaluate(tf.data.experimental.at(dataset, index=len(expected)))

    def verifyRandomAccessInfiniteCardinality(self, dataset, expected):
        for i, value in enumerate(expected):
            self.assertEqual(self.evaluate(tf.data.experimental.at(dataset, index=i)), value)

    # Tables.

    def textFileInitializer(self, vals):
        path = os.path.join(self.get_temp_dir(), "text_file_initializer")
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(str(v) for v in vals) + "\n")
        return tf.lookup.TextFileInitializer(path, tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER, tf.int64,
                                             tf.lookup.TextFileIndex.WHOLE_LINE)

    def keyValueTensorInitializer(self, vals):
        return tf.lookup.KeyValueTensorInitializer(tf.range(tf.size(vals, out_type=tf.int64)), vals)

    def datasetInitializer(self, vals):
        values = tf.data.Dataset.from_tensor_slices(vals)
        return tf.lookup.experimental.DatasetInitializer(tf.data.Dataset.zip(
            (tf.data.Dataset.range(len(vals)), values.map(lambda x: tf.cast(x, tf.int64)))))

    def lookupTableInitializer(self, init_source, vals):
        """An initializer of a table from positions to `vals`: "textfile", "keyvaluetensor" or "dataset"."""
        makers = {"textfile": self.textFileInitializer, "keyvaluetensor": self.keyValueTensorInitializer,
                  "dataset": self.datasetInitializer}
        if init_source not in makers:
            raise ValueError(f"Unrecognized init_source: {init_source}")
        return makers[init_source](vals)

    def graphRoundTrip(self, dataset, allow_stateful=False):
        """The dataset, made again from its graph."""
        graph = tf.raw_ops.DatasetToGraphV2(input_dataset=dataset._variant_tensor, external_state_policy=0 if not
                                            allow_stateful else 1, strip_device_assignment=False)
        return tf.data.experimental.from_variant(tf.raw_ops.DatasetFromGraph(graph_def=graph), dataset.element_spec)

    def checkDeterminism(self, dataset_fn, expect_determinism, expected_elements):
        """With `expect_determinism` the order is the expected one; without, another order is seen in some runs."""
        if expect_determinism:
            self.assertDatasetProduces(dataset_fn(100), expected_elements)
            return
        for delay_ms in [10, 100, 1000, 20000, 100000]:
            dataset = dataset_fn(delay_ms)
            actual = []
            get_next = self.getNext(dataset)
            for _ in expected_elements:
                actual.append(self.evaluate(get_next()))
            self.assertCountEqual(actual, expected_elements)
            for value, expected in zip(actual, expected_elements):
                if value != expected:
                    return
        self.fail("Failed to observe nondeterministic ordering")

    def configureDevicesForMultiDeviceTest(self, num_devices):
        """Logical host devices; their names."""
        cpus = tf.config.list_physical_devices("CPU")
        tf.config.set_logical_device_configuration(cpus[0], [tf.config.LogicalDeviceConfiguration()] * num_devices)
        return [f"/device:CPU:{i}" for i in range(num_devices)]
