"""weir.horovod between real processes."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import unittest

from launching import DEADLINE, FOLDER, Processes, environment, launch, ranks

CASES = os.path.join(FOLDER, "horovod_cases.py")
LOST = """
import sys, weir as tf, weir.horovod as hvd
hvd.init()
hvd.barrier()
print("met", flush=True)
if not sys.stdin.readline():
    sys.exit()
try:
    while True:
        hvd.allreduce(tf.constant(1.0))
except tf.errors.OpError as error:
    print(type(error).__name__, error.message, flush=True)
"""


class LaunchTest(unittest.TestCase):
    def check(self, done):
        self.assertEqual(done.returncode, 0, (done.stdout + done.stderr)[-4000:])
        return done

    def test_two_ranks(self):
        self.check(launch(2, CASES))

    def test_three_ranks(self):
        self.check(launch(3, CASES))

    def test_alone(self):
        self.check(subprocess.run([sys.executable, CASES], env=environment(), capture_output=True, text=True,
                                  timeout=DEADLINE))

    @unittest.skipUnless(shutil.which("mpirun"), "mpirun is not installed")
    def test_mpirun(self):
        self.check(subprocess.run(["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", sys.executable, CASES],
                                  env=environment(), capture_output=True, text=True, timeout=DEADLINE))

    def test_a_killed_rank_is_an_error_that_names_it(self):
        with Processes(["-c", LOST], ranks(2)) as (first, second):
            self.assertEqual((first.stdout.readline(), second.stdout.readline()), ("met\n", "met\n"))
            second.kill()
            second.wait()
            first.stdin.write("go\n")
            first.stdin.flush()
            self.assertRegex(first.stdout.readline(), r"^UnavailableError .*Rank 1 .*has died")

    def test_a_rank_that_ends_is_an_error_for_those_that_wait(self):
        with Processes(["-c", LOST], ranks(2)) as (first, second):
            self.assertEqual((first.stdout.readline(), second.stdout.readline()), ("met\n", "met\n"))
            first.stdin.write("go\n")
            first.stdin.flush()
            second.stdin.close()
            self.assertRegex(first.stdout.readline(), "^CancelledError .*Rank 1 has shut down")
            self.assertEqual((first.wait(DEADLINE), second.wait(DEADLINE)), (0, 0))

    def test_before_init(self):
        code = ("import weir.horovod as hvd\n"
                "try:\n  hvd.rank()\nexcept ValueError as error:\n  print(error)\n"
                "hvd.init(); hvd.init(); print(hvd.size(), hvd.is_initialized()); hvd.shutdown(); print(hvd.is_initialized())")
        done = self.check(subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True,
                                         timeout=DEADLINE))
        self.assertEqual(done.stdout.splitlines(), ["Horovod has not been initialized; use hvd.init().", "1 True", "False"])


@unittest.skipUnless(importlib.util.find_spec("keras"), "Keras is not installed: pip install keras")
class KerasTest(unittest.TestCase):
    def losses(self, count, *settings):
        done = launch(count, "-m", "weir", os.path.join(FOLDER, "horovod_keras_program.py"), *settings)
        self.assertEqual(done.returncode, 0, (done.stdout + done.stderr)[-4000:])
        line = next(part for part in done.stdout.splitlines() if part.startswith("[0] {"))
        return json.loads(line[4:])

    def compare(self, *settings):
        one, two = self.losses(1, *settings), self.losses(2, *settings)
        self.assertEqual((len(one["steps"]), len(two["steps"])), (100, 100))
        for name in ("steps", "epochs", "rate"):
            for a, b in zip(one[name], two[name]):
                self.assertAlmostEqual(a, b, delta=2e-5 * max(1, abs(a)))
        self.assertLess(one["steps"][-1], 0.9 * one["steps"][0])

    def test_two_ranks_train_as_one_on_the_joined_batch(self):
        self.compare("1")

    def test_gradients_of_several_passes_are_added_up_first(self):
        self.compare("2")

    def test_batches_are_normalized_together(self):
        self.compare("1", "normalized")


if __name__ == "__main__":
    unittest.main()
