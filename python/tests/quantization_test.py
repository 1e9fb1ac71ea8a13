"""tf.quantization and tf.DeviceSpec; what is expected is what TensorFlow gives."""

import unittest

import numpy as np

import weir as tf


class QuantizationTest(unittest.TestCase):
    def test_there_and_back(self):
        quantized = tf.quantization.quantize([1.0, 2.0], 0.0, 2.0, tf.quint8)
        back = tf.quantization.dequantize(quantized.output, quantized.output_min, quantized.output_max)
        np.testing.assert_allclose(back.numpy(), [1.0039216, 2.0], rtol=1e-6)
        np.testing.assert_allclose(tf.quantization.quantize_and_dequantize_v2([1.3, -0.2], -1.0, 2.0).numpy(),
                                   [1.3, -0.2047244], rtol=1e-6)


class DeviceSpecTest(unittest.TestCase):
    def test_names_in_parts(self):
        spec = tf.DeviceSpec(job="w", replica=0, task=1, device_type="GPU", device_index=2)
        self.assertEqual(spec.to_string(), "/job:w/replica:0/task:1/device:GPU:2")
        self.assertEqual(tf.DeviceSpec.from_string(spec.to_string()), spec)
        self.assertEqual(spec.replace(job="q").to_string(), "/job:q/replica:0/task:1/device:GPU:2")
        self.assertEqual(tf.DeviceSpec.from_string("/cpu:0").to_string(), "/device:CPU:0")
        self.assertEqual(spec.make_merged_spec(tf.DeviceSpec(job="z")).job, "z")
        self.assertRaises(ValueError, tf.DeviceSpec.from_string, "/nonsense:1")
        with tf.device(tf.DeviceSpec(device_type="CPU", device_index=0)):
            self.assertTrue(tf.constant(1).device.endswith("device:CPU:0"))


if __name__ == "__main__":
    unittest.main()
