#!/usr/bin/env python3
"""Runs the programs of examples/python on weir and on TensorFlow, and compares the numbers in their last lines.

    PYTHONPATH=build/release/python python/tools/compare_examples.py --tensorflow PYTHON [--weir PYTHON] [program ...]

Both Pythons need Keras. The settings are small; seeds are the programs' own. Steps of parameter servers are not in a
fixed order, so their losses are compared roughly.
"""

import argparse
import os
import re
import subprocess
import sys

FOLDER = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "examples", "python")
# Arguments, by which part of themselves numbers may differ, and by how many points percentages may.
PROGRAMS = {
    "sequential.py": (["--epochs", "1", "--train", "500"], 0.001, 1),
    "functional.py": (["--epochs", "2", "--count", "300"], 0.05, 1),
    "custom_loop.py": (["--epochs", "2", "--train", "500"], 0.001, 1),
    "mirrored.py": (["--epochs", "1", "--train", "500"], 0.001, 1),
    "multi_worker.py": (["--epochs", "2", "--train", "500"], 0.001, 1),
    "parameter_server.py": (["--epochs", "3", "--steps", "30", "--train", "500"], 0.5, 40),
    "transformer.py": (["--steps", "30"], 0.001, 1),
    "resnet.py": (["--epochs", "1", "--train", "640", "--blocks", "1", "--width", "8"], 0.001, 2),
    "dqn.py": (["--games", "15"], 0.1, 1),
}
SKIPPED = 77  # for ctest


def last_line(command, program, arguments):
    environment = dict(os.environ, MNIST_DIR="", TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")
    done = subprocess.run([*command, os.path.join(FOLDER, program), *arguments], env=environment, capture_output=True,
                          text=True, timeout=600)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} {program} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return done.stdout.strip().splitlines()[-1]


def numbers(line):
    """(number, whether it is a percentage) for each number of a line."""
    return [(float(text), bool(percent)) for text, percent in
            re.findall(r"(?<![\w.])(-?\d+(?:\.\d+)?(?:e-?\d+)?)(%?)", line)]


def is_close(ours, theirs, relative, points):
    (a, percent), (b, other) = ours, theirs
    return percent == other and abs(a - b) <= (points if percent else relative * abs(b))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tensorflow", required=True, help="a Python that has TensorFlow")
    parser.add_argument("--weir", default=sys.executable, help="a Python that runs weir")
    parser.add_argument("programs", nargs="*", default=list(PROGRAMS))
    arguments = parser.parse_args()
    if subprocess.run([arguments.weir, "-c", "import importlib.util, sys; sys.exit(importlib.util.find_spec('keras') is None)"
                       ]).returncode:
        print(f"{arguments.weir} has no Keras: pip install keras")
        return SKIPPED
    differences = 0
    for program in arguments.programs or PROGRAMS:
        settings, relative, points = PROGRAMS[program]
        ours = last_line([arguments.weir, "-m", "weir"], program, settings)
        theirs = last_line([arguments.tensorflow], program, settings)
        ours_found, theirs_found = numbers(ours), numbers(theirs)
        same = len(ours_found) == len(theirs_found) and all(
            is_close(a, b, relative, points) for a, b in zip(ours_found, theirs_found))
        differences += not same
        print(f"{'same' if same else 'DIFFERENT'}: {program}\n  weir:       {ours}\n  TensorFlow: {theirs}", flush=True)
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
