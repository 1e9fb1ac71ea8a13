"""GPUs from Python: tf.config, and eager tensors, variables and functions that stay on the device.

Runs on the emulated driver of tests/cuda_emulator, whose folder is $WEIR_TEST_CUDA_FOLDER; with WEIR_TEST_GPU=1 on the
machine's own GPU.
"""

import os
import sys
import unittest

_FOLDER = os.environ.get("WEIR_TEST_CUDA_FOLDER", "")
if not os.environ.get("WEIR_TEST_GPU"):
    if not os.path.isdir(_FOLDER):
        print("no emulated driver: skipped")
        sys.exit(0)
    os.environ["WEIR_CUDA_PATH"] = ":".join(filter(None, [_FOLDER, os.environ.get("WEIR_CUDA_PATH")]))
    os.environ.setdefault("WEIR_CUDA_CACHE", _FOLDER + "/cache")

import numpy as np  # noqa: E402
import weir as tf  # noqa: E402

CPU, GPU = (f"/job:localhost/replica:0/task:0/device:{name}:0" for name in ("CPU", "GPU"))
SECOND = GPU[:-1] + "1"


class BeforeTheFirstOperation(unittest.TestCase):
    """The name sorts before the other classes': these tests come before the GPUs are started."""

    def test_cards_are_listed_without_starting_them(self):
        cards = tf.config.list_physical_devices("GPU")
        self.assertEqual(cards[0].name, "/physical_device:GPU:0")
        self.assertEqual(tf.config.get_visible_devices("GPU"), cards)
        details = tf.config.experimental.get_device_details(cards[0])
        self.assertEqual(len(details["compute_capability"]), 2)
        self.assertTrue(details["device_name"])
        self.assertTrue(tf.test.is_built_with_cuda())
        self.assertTrue(tf.sysconfig.get_build_info()["is_cuda_build"])

    def test_choices_are_checked(self):
        card = tf.config.list_physical_devices("GPU")[0]
        wrong = type(card)("/physical_device:GPU:9", "GPU")
        with self.assertRaisesRegex(ValueError, "Unrecognized device"):
            tf.config.set_visible_devices([wrong], "GPU")
        with self.assertRaisesRegex(ValueError, "Setting memory limit is required for GPU virtual devices"):
            tf.config.set_logical_device_configuration(card, [tf.config.LogicalDeviceConfiguration()])
        with self.assertRaisesRegex(ValueError, "Cannot set memory growth on non-GPU"):
            tf.config.experimental.set_memory_growth(tf.config.list_physical_devices("CPU")[0], True)
        tf.config.experimental.set_memory_growth(card, True)
        self.assertTrue(tf.config.experimental.get_memory_growth(card))

    def test_x_two_logical_devices(self):
        card = tf.config.list_physical_devices("GPU")[0]
        halves = [tf.config.LogicalDeviceConfiguration(memory_limit=256)] * 2
        tf.config.set_visible_devices([card], "GPU")
        tf.config.set_logical_device_configuration(card, halves)
        self.assertEqual(tf.config.get_logical_device_configuration(card), halves)


class GpuTest(unittest.TestCase):
    def test_logical_devices(self):
        self.assertEqual([d.name for d in tf.config.list_logical_devices("GPU")], ["/device:GPU:0", "/device:GPU:1"])
        self.assertEqual(tf.test.gpu_device_name(), "/device:GPU:0")
        self.assertTrue(tf.test.is_gpu_available())
        self.assertFalse(tf.test.is_gpu_available(min_cuda_compute_capability=(99, 0)))
        card = tf.config.list_physical_devices("GPU")[0]
        with self.assertRaisesRegex(RuntimeError, "Virtual devices cannot be modified after being initialized"):
            tf.config.set_logical_device_configuration(
                card, [tf.config.LogicalDeviceConfiguration(memory_limit=128)])
        with self.assertRaisesRegex(RuntimeError, "Visible devices cannot be modified after being initialized"):
            tf.config.set_visible_devices([], "GPU")

    def test_results_stay_on_the_device(self):
        x = tf.constant([1.0, 2.0, 3.0])
        self.assertEqual(x.device, GPU)
        y = tf.square(x) + 1.0
        self.assertEqual((y.device, y.backing_device), (GPU, GPU))
        self.assertEqual(y.numpy().tolist(), [2.0, 5.0, 10.0])
        self.assertEqual(float(tf.reduce_sum(y)), 17.0)
        self.assertTrue(bool(tf.reduce_all(y > 1)))
        self.assertIn("[ 2.  5. 10.]", str(y))
        self.assertEqual(tf.shape(y).device, CPU)
        self.assertEqual(tf.constant([1, 2]).device, CPU)
        self.assertEqual(y.cpu().device, CPU)
        self.assertEqual(y.cpu().gpu(1).device, SECOND)

    def test_scopes_of_devices(self):
        x = tf.constant([1.0, 2.0])
        with tf.device("/CPU:0"):
            self.assertEqual(tf.identity(x).device, CPU)
            self.assertEqual(tf.constant([1.0]).device, CPU)
        with tf.device("/GPU:1"):
            y = tf.square(x)
        self.assertEqual(y.device, SECOND)
        self.assertEqual((x + y).numpy().tolist(), [2.0, 6.0])
        with self.assertRaises(tf.errors.InvalidArgumentError), tf.device("/GPU:7"):
            tf.square(x)

    def test_soft_placement(self):
        with tf.device("/GPU:0"):
            self.assertEqual(tf.strings.join(["a", "b"]).numpy(), b"ab")
        tf.config.set_soft_device_placement(False)
        try:
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "Could not satisfy device specification"):
                with tf.device("/GPU:0"):
                    tf.raw_ops.StringLength(input=tf.constant(["abc"]))
        finally:
            tf.config.set_soft_device_placement(True)

    def test_variables_and_tapes(self):
        w = tf.Variable([1.0, 2.0])
        self.assertEqual(w.device, GPU)
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.square(w))
        gradient = tape.gradient(loss, w)
        self.assertEqual(gradient.device, GPU)
        w.assign_sub(0.5 * gradient)
        self.assertEqual(w.numpy().tolist(), [0.0, 0.0])
        steps = tf.Variable(0, dtype=tf.int32)
        steps.assign_add(2)
        self.assertEqual(int(steps), 2)

    def test_functions(self):
        w = tf.Variable([1.0, 2.0])

        @tf.function
        def step(x):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(tf.square(w - x))
            w.assign_sub(0.25 * tape.gradient(loss, w))
            return loss, tf.shape(x)[0]

        losses = [step(tf.constant([0.0, 0.0])) for _ in range(3)]
        self.assertEqual(losses[0][0].device, GPU)
        self.assertEqual([float(loss) for loss, _ in losses], [5.0, 1.25, 0.3125])
        self.assertEqual(int(losses[0][1]), 2)
        self.assertEqual(w.numpy().tolist(), [0.125, 0.25])

    def test_memory(self):
        device = "GPU:0"
        x = tf.ones([256, 1024])
        info = tf.config.experimental.get_memory_info(device)
        self.assertGreaterEqual(info["current"], 1 << 20)
        self.assertEqual(tf.config.experimental.get_memory_usage(device), info["current"])
        del x
        tf.config.experimental.reset_memory_stats(device)
        self.assertLess(tf.config.experimental.get_memory_info(device)["peak"], info["peak"])
        with self.assertRaisesRegex(ValueError, "No matching devices found"):
            tf.config.experimental.get_memory_info("GPU:9")
        with self.assertRaisesRegex(ValueError, "Allocator stats not available"):
            tf.config.experimental.get_memory_info("CPU:0")

    def test_dlpack_shares_memory_of_the_device(self):
        x = tf.constant([1.0, 2.0, 3.0])
        self.assertEqual(x.__dlpack_device__(), (2, 0))
        y = tf.experimental.dlpack.from_dlpack(tf.experimental.dlpack.to_dlpack(x))
        self.assertTrue(y.device.startswith(GPU[:-1]), y.device)
        self.assertEqual((y * 2.0).numpy().tolist(), [2.0, 4.0, 6.0])

    def test_datasets_and_numpy_meet_the_device(self):
        total = tf.constant(0.0)
        for batch in tf.data.Dataset.from_tensor_slices(np.arange(6, dtype=np.float32)).batch(2):
            total += tf.reduce_sum(batch)
        self.assertEqual(float(total), 15.0)
        self.assertEqual(np.asarray(tf.constant([[1.0]]) + 1.0).tolist(), [[2.0]])

    def test_mirrored_strategy(self):
        strategy = tf.distribute.MirroredStrategy()
        self.assertEqual(strategy.num_replicas_in_sync, 2)
        with strategy.scope():
            w = tf.Variable(2.0)

        @tf.function
        def step():
            def replica():
                number = tf.cast(tf.distribute.get_replica_context().replica_id_in_sync_group, tf.float32)
                return tf.distribute.get_replica_context().all_reduce("sum", number + 1.0) * w
            return strategy.run(replica)

        results = strategy.experimental_local_results(step())
        self.assertEqual([float(result) for result in results], [6.0, 6.0])


if __name__ == "__main__":
    unittest.main()
