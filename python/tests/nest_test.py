import collections
import unittest

from weir import nest

Point = collections.namedtuple("Point", ["x", "y"])


class NestTest(unittest.TestCase):
    def test_dictionaries_are_visited_by_sorted_keys_and_keep_their_order(self):
        value = {"b": 1, "a": (2, [3, None])}
        self.assertEqual(nest.flatten(value), [2, 3, None, 1])
        packed = nest.pack_sequence_as(value, list("wxyz"))
        self.assertEqual(packed, {"b": "z", "a": ("w", ["x", "y"])})
        self.assertEqual(list(packed), ["b", "a"])

    def test_named_tuples_and_strings(self):
        self.assertEqual(nest.map_structure(lambda v: v * 2, Point(1, "ab")), Point(2, "abab"))
        self.assertFalse(nest.is_nested("abc"))
        self.assertFalse(nest.is_nested({1, 2}))

    def test_errors_name_the_difference(self):
        with self.assertRaisesRegex(ValueError, "Structure had 3 atoms, but flat_sequence had 2 items"):
            nest.pack_sequence_as([1, [2, 3]], [1, 2])
        with self.assertRaisesRegex(ValueError, "same number of elements"):
            nest.assert_same_structure([1, 2], [1])
        with self.assertRaises(TypeError):
            nest.assert_same_structure([1, 2], (1, 2))
        nest.assert_same_structure([1, 2], (1, 2), check_types=False)
        with self.assertRaises(ValueError):
            nest.map_structure(lambda a, b: a, {"a": 1}, {"b": 1})
        with self.assertRaises(TypeError):
            nest.flatten({1: 0, "a": 1})


if __name__ == "__main__":
    unittest.main()
