"""tf.compat.v1.profiler.profile; what is expected was taken from TensorFlow 2.21."""

import contextlib
import io
import unittest

import weir as tf

v1 = tf.compat.v1


class ProfileTest(unittest.TestCase):
    def setUp(self):
        with tf.Graph().as_default() as self.graph:
            x = v1.placeholder(tf.float32, [4, 8, 8, 3])
            with v1.variable_scope("conv"):
                kernel = v1.get_variable("w", [3, 3, 3, 16], initializer=v1.zeros_initializer())
                y = tf.nn.max_pool2d(tf.nn.conv2d(x, kernel, 1, "SAME"), 2, 2, "SAME")
            with v1.variable_scope("fc"):
                weights = v1.get_variable("w", [256, 10], initializer=v1.zeros_initializer())
                tf.nn.softmax(tf.matmul(tf.reshape(y, [4, -1]), weights))

    def profile(self, **kwargs):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            result = v1.profiler.profile(self.graph, **kwargs)
        return result, out.getvalue()

    def test_float_operations(self):
        result, text = self.profile(options=v1.profiler.ProfileOptionBuilder.float_operation())
        self.assertEqual(result.total_float_ops, 221184 + 4096 + 20480 + 200)
        self.assertIn("""node name | # float_ops
_TFProfRoot (--/245.96k flops)
  conv/Conv2D (221.18k/221.18k flops)
  fc/MatMul (20.48k/20.48k flops)
  conv/MaxPool2d (4.10k/4.10k flops)
  fc/Softmax (200/200 flops)
""", text)
        _, text = self.profile(cmd="op", options=v1.profiler.ProfileOptionBuilder.float_operation())
        self.assertIn("Conv2D                   221.18k float_ops (100.00%, 89.93%)\n", text)

    def test_parameters(self):
        result, text = self.profile(options=v1.profiler.ProfileOptionBuilder.trainable_variables_parameter())
        self.assertEqual(result.total_parameters, 2992)
        self.assertIn("""  conv (--/432 params)
    conv/w (3x3x3x16, 432/432 params)
  fc (--/2.56k params)
    fc/w (256x10, 2.56k/2.56k params)
""", text)
        builder = v1.profiler.ProfileOptionBuilder
        _, text = self.profile(options=builder(builder.float_operation()).with_empty_output().build())
        self.assertEqual(text, "")


if __name__ == "__main__":
    unittest.main()
