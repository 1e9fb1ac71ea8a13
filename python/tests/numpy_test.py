"""tf.experimental.numpy against results that TensorFlow gave (tools/compare_functions.py --cases numpy_cases --record)."""

import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tools"))

import compare_functions  # noqa: E402
import weir as tf  # noqa: E402

DIFFERENT = {"experimental.numpy.angle": "is always float32 in TensorFlow",
             "experimental.numpy.float_power": "an integer to a power is an integer in TensorFlow, a float in NumPy",
             "experimental.numpy.isposinf": "of integers is one value in TensorFlow",
             "experimental.numpy.meshgrid": "of booleans is not there"}


class NumpyTest(unittest.TestCase):
    def test_results_equal_the_recorded_ones(self):
        rounds, seed, expected = compare_functions.recorded(os.path.join(HERE, "fixtures", "numpy.json.z"))
        mine = compare_functions.run("weir", rounds, seed, None, "numpy_cases")
        compared = 0
        for key, theirs in expected.items():
            # Where TensorFlow fails, because its own operators do not promote, weir computes.
            if theirs[0] != "ok" or key[2] in DIFFERENT:
                continue
            compared += 1
            with self.subTest(round=key[0], position=key[1], function=key[2]):
                self.assertIsNone(compare_functions.difference(mine[key], theirs))
        self.assertGreater(compared, 400)

    def test_methods_of_arrays_and_promotion_can_be_switched_on(self):
        code = """if True:
            import weir as tf
            tf.experimental.numpy.experimental_enable_numpy_behavior()
            x = tf.constant([[1, 2], [3, 4]])
            assert x.T.numpy().tolist() == [[1, 3], [2, 4]] and x.ndim == 2 and x.size == 4
            assert x.reshape(-1).astype("float32").dtype == tf.float32
            assert (x + 0.5).dtype == tf.float64 and (tf.constant(1.0) * x).dtype == tf.float64
        """
        import subprocess
        subprocess.run([sys.executable, "-c", code], check=True)
        with self.assertRaises(Exception):
            tf.constant([1]) + tf.constant([0.5])


if __name__ == "__main__":
    unittest.main()
