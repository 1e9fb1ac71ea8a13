"""Checkpoints: TensorFlow's are read, ours have the same keys, and objects that are made later are restored."""

import os
import pathlib
import tempfile
import unittest

import weir as tf

FIXTURE = pathlib.Path(__file__).parent / "fixtures" / "checkpoint"


def objects():
    return dict(step=tf.Variable(0), parts=[tf.Variable([0.0, 0.0]), tf.Variable("")],
                table={"a/b.c": tf.Variable([[0]])})


class Checkpoints(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def check(self, given):
        self.assertEqual(given["step"].numpy(), 7)
        self.assertEqual(given["parts"][0].numpy().tolist(), [1.0, 2.0])
        self.assertEqual(given["parts"][1].numpy(), b"text")
        self.assertEqual(given["table"]["a/b.c"].numpy().tolist(), [[3]])

    def test_restores_what_tensorflow_wrote(self):
        given = objects()
        checkpoint = tf.train.Checkpoint(**given)
        checkpoint.restore(tf.train.latest_checkpoint(FIXTURE)).assert_consumed()
        self.check(given)
        self.assertEqual(int(checkpoint.save_counter), 1)

    def test_writes_the_keys_that_tensorflow_writes(self):
        tf.train.Checkpoint(**objects()).save(os.path.join(self.folder, "ckpt"))
        self.assertEqual(tf.train.list_variables(self.folder), tf.train.list_variables(FIXTURE))

    def test_values_of_another_shape_are_refused(self):
        path = tf.train.Checkpoint(v=tf.Variable([1.0, 2.0]), items=[tf.Variable([3.0, 4.0])]).save(self.folder + "/c")
        with self.assertRaisesRegex(ValueError, r"incompatible tensor with shape \(2,\) when attempting to restore variable "
                                                r"with shape \(1, 2\)"):
            tf.train.Checkpoint(v=tf.Variable([[5.0, 6.0]])).restore(path)
        later = tf.train.Checkpoint()
        later.restore(path)
        later.items = []
        later.items.append(tf.Variable([[5.0, 6.0]]))  # a list that grows takes what fits
        self.assertEqual(later.items[0].numpy().tolist(), [[5.0, 6.0]])

    def test_paths_follow_the_names_of_the_arguments(self):
        shared = tf.Variable(1.0)
        path = tf.train.Checkpoint(z=[shared], a=[shared]).save(self.folder + "/c")
        self.assertIn("a/0/.ATTRIBUTES/VARIABLE_VALUE", dict(tf.train.list_variables(path)))

    def test_round_trip(self):
        given = objects()
        given["step"].assign(7)
        given["parts"][0].assign([1.0, 2.0])
        given["parts"][1].assign("text")
        given["table"]["a/b.c"].assign([[3]])
        path = tf.train.Checkpoint(**given).save(os.path.join(self.folder, "ckpt"))
        again = objects()
        tf.train.Checkpoint(**again).restore(path).assert_consumed()
        self.check(again)

    def test_variables_made_later_are_restored_then(self):
        module = tf.Module()
        tf.train.Checkpoint(module=module).restore(self.saved()).expect_partial()
        module.w = tf.Variable(0.0)
        self.assertEqual(module.w.numpy(), 5.0)

    def saved(self):
        module = tf.Module()
        module.w = tf.Variable(5.0)
        return tf.train.Checkpoint(module=module).save(os.path.join(self.folder, "ckpt"))

    def test_assert_consumed_names_what_is_left(self):
        with self.assertRaisesRegex(AssertionError, "module/w"):
            tf.train.Checkpoint().restore(self.saved()).assert_consumed()
        with self.assertRaises(AssertionError):
            tf.train.Checkpoint(other=tf.Variable(1.0)).restore(self.saved()).assert_existing_objects_matched()

    def test_the_manager_keeps_the_last(self):
        checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))
        manager = tf.train.CheckpointManager(checkpoint, self.folder, max_to_keep=2)
        for _ in range(3):
            last = manager.save()
        self.assertEqual([os.path.basename(p) for p in manager.checkpoints], ["ckpt-2", "ckpt-3"])
        self.assertEqual(tf.train.latest_checkpoint(self.folder), last)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "ckpt-1.index")))
        again = tf.train.CheckpointManager(checkpoint, self.folder, max_to_keep=2)
        self.assertEqual(again.latest_checkpoint, last)

    def test_tuples_are_tracked(self):
        import collections
        Pair = collections.namedtuple("Pair", "a b")
        module = tf.Module()
        module.plain, module.named, module.numbers = (tf.Variable(1.0), 2), Pair(tf.Variable(2.0), []), (1, 2)
        self.assertEqual(len(module.variables), 2)
        self.assertIs(type(module.numbers), tuple)
        self.assertIsInstance(module.named, Pair)
        self.assertEqual(module.plain[1], 2)
        with tempfile.TemporaryDirectory() as folder:
            path = tf.train.Checkpoint(module=module).write(os.path.join(folder, "c"))
            names = [name for name, _ in tf.train.list_variables(path)]
        suffix = "/.ATTRIBUTES/VARIABLE_VALUE"
        self.assertEqual(names, ["_CHECKPOINTABLE_OBJECT_GRAPH", "module/named/a" + suffix, "module/plain/0" + suffix])



class Note(tf.train.experimental.PythonState):
    text = ""

    def serialize(self):
        return self.text

    def deserialize(self, string_value):
        self.text = string_value


class PythonStateTest(unittest.TestCase):
    def test_values_of_python_and_a_view_of_the_file(self):
        note, v = Note(), tf.Variable(1.0)
        note.text = "kept"
        with tempfile.TemporaryDirectory() as folder:
            checkpoint = tf.train.Checkpoint(note=note, v=v)
            path = checkpoint.save(folder + "/c")
            note.text = "changed"
            checkpoint.restore(path).assert_consumed()
            self.assertEqual(note.text, b"kept")
            self.assertIn(("note/.ATTRIBUTES/py_state", []), tf.train.list_variables(path))
            view = tf.train.CheckpointView(path)
            self.assertEqual(view.children(0), {"note": 1, "v": 2, "save_counter": 3})
            self.assertEqual(view.descendants(), [0, 1, 2, 3])
            other = tf.train.Checkpoint(v=v, w=tf.Variable(2.0))
            matched, only_in_file, missing = view.diff(other)
            self.assertEqual((list(matched), only_in_file, len(missing)), ([0, 2], [1, 3], 1))
            self.assertIs(matched[2], v)


if __name__ == "__main__":
    unittest.main()
