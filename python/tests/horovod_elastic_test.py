"""weir.horovod.elastic: processes that come and go, under weir launch --elastic."""

import os
import re
import subprocess
import sys
import tempfile
import unittest

from launching import DEADLINE, LAUNCHER, environment

PROGRAM = """
import os, signal, sys
import weir as tf
import weir.horovod as hvd

hvd.init()
number, steps = int(os.environ["WEIR_WORKER"]), int(sys.argv[1])
dies, at = int(sys.argv[2]), int(sys.argv[3])
w = tf.Variable(float(number))
state = hvd.elastic.TensorFlowState([w], step=0, seen=[])


@tf.function
def mean(x):
    return hvd.allreduce(x, op=hvd.Average)


@hvd.elastic.run
def train(state):
    print(f"worker {number} is rank {hvd.rank()} of {hvd.size()} at step {state.step} with {w.numpy():g}", flush=True)
    while state.step < steps:
        if number == dies and state.step == at:
            os.kill(os.getpid(), signal.SIGKILL)
        w.assign_add(mean(tf.constant(1.0)))
        state.seen.append(state.step)
        state.step += 1
        if state.step % 3 == 0:
            state.commit()
    return state.step


resets = []
state.register_reset_callbacks([lambda: resets.append(hvd.size())])
print(f"worker {number} returns {train(state)} with {w.numpy():g}, {len(state.seen)} seen, resets {resets}", flush=True)
"""


class ElasticTest(unittest.TestCase):
    def launch(self, flags, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "program.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write(PROGRAM)
            done = subprocess.run([LAUNCHER, "launch", "--elastic", *flags, "--", sys.executable, path, *map(str, arguments)],
                                  env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  timeout=DEADLINE)
        return done.returncode, done.stdout

    def test_without_faults(self):
        code, text = self.launch(["-n", "2", "--min", "2"], 9, -1, 0)
        self.assertEqual(code, 0, text)
        self.assertEqual(len(re.findall(r"worker \d returns 9 with 9, 9 seen, resets \[\]", text)), 2, text)
        # The values of rank 0 count.
        self.assertEqual(len(re.findall(r"of 2 at step 0 with 0", text)), 2, text)

    def test_a_lost_process_costs_the_steps_since_the_last_commit(self):
        code, text = self.launch(["-n", "2", "--min", "1"], 30, 1, 20)
        self.assertEqual(code, 0, text)
        self.assertIn("the processes meet anew: Rank 1", text)
        self.assertRegex(text, r"worker 0 is rank 0 of [12] at step 18 with 18")
        self.assertRegex(text, r"worker 0 returns 30 with 30, 30 seen, resets \[[12]")


if __name__ == "__main__":
    unittest.main()
