"""Eager tensors, operators, slices, types and errors print what TensorFlow's do (fixtures/eager.json)."""

import json
import pathlib
import unittest

import numpy as np

import weir as tf
import eager_cases


class PrintedForms(unittest.TestCase):
    def test_expressions_give_what_tensorflow_gives(self):
        recorded = json.loads((pathlib.Path(__file__).parent / "fixtures" / "eager.json").read_text())
        self.assertEqual([row[0] for row in recorded], eager_cases.CASES, "run tests/record again")
        for (case, kind, text), (_, our_kind, our_text) in zip(recorded, eager_cases.evaluate(tf, np)):
            with self.subTest(case):
                self.assertEqual((our_kind, our_text), (kind, text))


if __name__ == "__main__":
    unittest.main()
