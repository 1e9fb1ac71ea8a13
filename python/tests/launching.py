"""Starts programs as several processes, for tests."""

import os
import subprocess
import sys
import unittest
import uuid

import weir

FOLDER = os.path.dirname(os.path.realpath(__file__))
DEADLINE = 270  # seconds; ctest ends a test after 300
LAUNCHER = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(weir.__file__))), "bin", "weir")


def environment(**more):
    """This process's environment without what another launcher has put there."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("WEIR_", "OMPI_", "PMI", "SLURM_", "HOROVOD_", "TF_"))}
    return {**kept, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", **more}


def launch(ranks, *command, **more):
    """Runs `python command...` with `weir launch`; its result with the output of all ranks."""
    if not os.path.exists(LAUNCHER):
        raise unittest.SkipTest(f"there is no {LAUNCHER}: build the target weir")
    return subprocess.run([LAUNCHER, "launch", "-n", str(ranks), "--", sys.executable, *command],
                          env=environment(HOROVOD_STALL_SHUTDOWN_TIME_SECONDS="120", **more), capture_output=True, text=True,
                          timeout=DEADLINE)


class Processes:
    """Processes that are started without a launcher, each with its own variables; ended when the block is left."""

    def __init__(self, command, variables):
        self._started = [subprocess.Popen([sys.executable, *command], env=environment(**own), stdout=subprocess.PIPE,
                                          stderr=subprocess.PIPE, stdin=subprocess.PIPE, text=True) for own in variables]

    def __enter__(self):
        return self._started

    def __exit__(self, *error):
        for process in self._started:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout, process.stderr):
                pipe.close()


def ranks(count):
    """The variables of `count` ranks of a job of their own on this host."""
    job = uuid.uuid4().hex
    return [{"WEIR_RANK": str(r), "WEIR_SIZE": str(count), "WEIR_LOCAL_RANK": str(r), "WEIR_LOCAL_SIZE": str(count),
             "WEIR_JOB": job} for r in range(count)]
