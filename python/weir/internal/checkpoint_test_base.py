"""tensorflow.python.data.kernel_tests.checkpoint_test_base: iterators that are saved and go on where they were."""

import os

import numpy as np

import weir as tf
from weir.data import structure
from weir.framework import errors
from weir.framework.graph import eager_mode
from weir.internal.combinations import combine
from weir.test_case import TestCase

__all__ = ["CheckpointTestBase", "default_test_combinations", "remove_variants"]


def remove_variants(get_next_op):
    """Elements with empty tuples in the place of what cannot be fetched."""
    def leaf(value):
        return () if isinstance(value, tf.Tensor) and value.dtype == tf.variant else value
    return structure.map_structure(leaf, get_next_op)


def default_test_combinations():
    """How iterators are verified: each of the ways that the class below has."""
    def verify(test, ds_fn, num_outputs, sparse_tensors=False, assert_items_equal=False):
        for way in (test.verify_unused_iterator, test.verify_multiple_breaks, test.verify_reset_restored_iterator):
            way(ds_fn, num_outputs, sparse_tensors=sparse_tensors, verify_exhausted=True,
                assert_items_equal=assert_items_equal)
        test.verify_fully_used_iterator(ds_fn, num_outputs, sparse_tensors, assert_items_equal)
        test.verify_exhausted_iterator(ds_fn, num_outputs, sparse_tensors, assert_items_equal)
    return combine(verify_fn=[verify])


class CheckpointTestBase(TestCase):
    """What a dataset produces does not change where its iterator is saved and restored on the way."""

    def verify_unused_iterator(self, ds_fn, num_outputs, sparse_tensors=False, verify_exhausted=True,
                               assert_items_equal=False):
        """An iterator that is saved before its first element."""
        self.verify_run_with_breaks(ds_fn, [0], num_outputs, sparse_tensors, verify_exhausted, assert_items_equal)

    def verify_fully_used_iterator(self, ds_fn, num_outputs, sparse_tensors=False, assert_items_equal=False):
        """... after its last element."""
        self.verify_run_with_breaks(ds_fn, [num_outputs], num_outputs, sparse_tensors, assert_items_equal=assert_items_equal)

    def verify_exhausted_iterator(self, ds_fn, num_outputs, sparse_tensors=False, assert_items_equal=False):
        """... after it has said that there are no more."""
        self.gen_outputs(ds_fn, [], num_outputs, sparse_tensors=sparse_tensors)
        after = self.gen_outputs(ds_fn, [], 0, ckpt_saved=True, sparse_tensors=sparse_tensors)
        self.assertEmpty(after)

    def verify_multiple_breaks(self, ds_fn, num_outputs, num_breaks=10, sparse_tensors=False, verify_exhausted=True,
                               assert_items_equal=False):
        """... at several places."""
        self.verify_run_with_breaks(ds_fn, self.gen_break_points(num_outputs, num_breaks), num_outputs, sparse_tensors,
                                    verify_exhausted, assert_items_equal)

    def verify_reset_restored_iterator(self, ds_fn, num_outputs, break_point=None, sparse_tensors=False,
                                       verify_exhausted=True, assert_items_equal=False):
        """A new iterator over the dataset begins at its beginning, whatever was restored before."""
        break_point = num_outputs // 2 if break_point is None else break_point
        self.gen_outputs(ds_fn, [], break_point, sparse_tensors=sparse_tensors, verify_exhausted=False)
        expected = self.gen_outputs(ds_fn, [], num_outputs, sparse_tensors=sparse_tensors, verify_exhausted=verify_exhausted)
        actual = self.gen_outputs(ds_fn, [], num_outputs, sparse_tensors=sparse_tensors, verify_exhausted=verify_exhausted)
        self.match(expected, actual, assert_items_equal)

    def verify_error_on_save(self, ds_fn, num_outputs, error, break_point=None, sparse_tensors=False,
                             assert_items_equal=False):
        """Saving raises an error."""
        break_point = num_outputs // 2 if break_point is None else break_point
        with eager_mode():
            iterator = iter(ds_fn())
            for _ in range(break_point):
                next(iterator)
            with self.assertRaises(error):
                self._save(iterator)

    def verify_run_with_breaks(self, ds_fn, break_points, num_outputs, sparse_tensors=False, verify_exhausted=True,
                               assert_items_equal=False):
        """The elements are the same with and without breaks."""
        expected = self.gen_outputs(ds_fn, [], num_outputs, sparse_tensors=sparse_tensors, verify_exhausted=verify_exhausted)
        actual = self.gen_outputs(ds_fn, break_points, num_outputs, sparse_tensors=sparse_tensors,
                                  verify_exhausted=verify_exhausted)
        self.match(expected, actual, assert_items_equal)

    def gen_outputs(self, ds_fn, break_points, num_outputs, ckpt_saved=False, sparse_tensors=False, verify_exhausted=True,
                    save_checkpoint_at_end=True):
        """`num_outputs` elements; at each of the break points the iterator is saved, and another one goes on."""
        outputs = []
        with eager_mode():
            iterator = iter(ds_fn())
            if ckpt_saved:
                self._restore(iterator)
            for point in list(break_points) + [num_outputs]:
                while len(outputs) < point:
                    outputs.append(self.evaluate(remove_variants(iterator.get_next())))
                if point == num_outputs and verify_exhausted:
                    with self.assertRaises(errors.OutOfRangeError):
                        iterator.get_next()
                if save_checkpoint_at_end or point < num_outputs:
                    self._save(iterator)
                if point < num_outputs or point in break_points:
                    iterator = iter(ds_fn())
                    self._restore(iterator)
        return outputs

    def match(self, expected, actual, assert_items_equal=False):
        """Elements are equal, in any order with `assert_items_equal`."""
        self.assertLen(actual, len(expected))
        if assert_items_equal:
            self.assertCountEqual(expected, actual)
            return
        for left, right in zip(structure.flatten(tuple(expected)), structure.flatten(tuple(actual))):
            self.assertAllEqual(left, right)

    def does_not_match(self, expected, actual):
        with self.assertRaises(AssertionError):
            self.match(expected, actual)

    def gen_break_points(self, num_outputs, num_samples=10):
        """Places spread over the whole length."""
        return np.unique(np.linspace(0, num_outputs, num_samples, dtype=int))

    def _ckpt_path(self):
        return os.path.join(self.get_temp_dir(), "iterator")

    def _save(self, iterator):
        tf.train.Checkpoint(iterator=iterator).write(self._ckpt_path())

    def _restore(self, iterator):
        tf.train.Checkpoint(iterator=iterator).read(self._ckpt_path()).assert_consumed()
