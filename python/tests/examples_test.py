"""The programs of examples/python run to their end."""

import os
import re
import subprocess
import sys
import unittest

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "python")


class ExamplesTest(unittest.TestCase):
    def setUp(self):
        try:
            import google.protobuf  # noqa: F401
        except ImportError:
            self.skipTest("the package protobuf is not installed")

    def run_program(self, name, *arguments):
        done = subprocess.run([sys.executable, "-m", "weir", os.path.join(FOLDER, name), *arguments], text=True,
                              capture_output=True, timeout=200)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_softmax(self):
        shown = self.run_program("softmax_digits.py")
        self.assertGreater(float(shown.split()[-1]), 0.95)

    def test_replicas_in_graph(self):
        before, after = re.search(r"loss ([\d.]+) before, ([\d.]+) after", self.run_program(
            "replicas_in_graph.py", "--replicas", "2", "--steps", "50")).groups()
        self.assertLess(float(after), 0.1 * float(before))

    def test_replicas_between_graphs(self):
        shown = self.run_program("replicas_between_graphs.py", "--steps", "30")
        self.assertIn("worker 0: loss", shown)
        self.assertIn("worker 1: loss", shown)

    def test_horovod_trace(self):  # alone, nothing is exchanged, but all of it is traced
        shown = self.run_program("horovod_trace.py", "--layers", "3", "--width", "64", "--steps", "3")
        self.assertRegex(shown, r"0 % of the backward pass's products ran while a gradient was on its way")

    def test_variables_on_servers(self):
        rows = [line.split() for line in self.run_program("variables_on_servers.py").splitlines()]
        devices = {}
        for row in rows:
            if row[-1].endswith(":"):
                title = " ".join(row)
            else:
                devices.setdefault(title, []).append(row[-1][-1])
        self.assertEqual(devices["in turn:"], ["0", "1", "0", "1"])
        self.assertEqual(devices["by size:"], ["0", "1", "1", "1"])
        self.assertEqual(devices["in parts, in turn:"], ["0", "1"] * 4)


if __name__ == "__main__":
    unittest.main()
