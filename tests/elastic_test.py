#!/usr/bin/env python3
"""Elastic jobs: `weir launch --elastic` with workers that die, fail, stop, join and leave while they train.

    tests/elastic_test.py build/release/bin/weir build/release/bin/elastic_worker
"""

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import network_namespaces

WEIR, WORKER = [os.path.abspath(path) for path in sys.argv[1:3]]
TIME = 300


def launch(*flags, worker=(), wait=True):
    """What a job prints, and how it ends; or the running job."""
    command = [WEIR, "launch", "--elastic", *flags, "--", WORKER, *[str(word) for word in worker]]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if not wait:
        return process
    text = process.communicate(timeout=TIME)[0]
    return process.returncode, text


def finished(text):
    """The steps at which workers finished, by worker."""
    return {int(worker): int(step) for worker, step in re.findall(r"worker (\d+) has finished at step (\d+)", text)}


def rounds(text):
    """(worker, rank, size, step) of every beginning."""
    return [tuple(map(int, found)) for found in re.findall(r"worker (\d+) is rank (\d+) of (\d+) at step (\d+)", text)]


class OneHost(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def discovery(self, text):
        """A program that prints the hosts of a file; the file."""
        hosts = os.path.join(self.folder, "hosts")
        self.write(hosts, text)
        return hosts, f"cat {hosts}"

    def write(self, path, text):
        with open(path + ".new", "w", encoding="utf-8") as file:
            file.write(text)
        os.rename(path + ".new", path)

    def test_without_faults(self):
        code, text = launch("-n", "3", "--min", "2", worker=[40])
        self.assertEqual(code, 0, text)
        self.assertEqual(finished(text), {0: 40, 1: 40, 2: 40}, text)
        self.assertEqual({size for _, _, size, _ in rounds(text)}, {3}, text)

    def test_alone_without_a_launcher(self):
        done = subprocess.run([WORKER, "40"], capture_output=True, text=True, timeout=TIME, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(finished(done.stdout), {0: 40})

    def test_a_worker_that_dies_costs_the_steps_since_the_last_commit(self):
        for victim in (0, 2):  # the first rank, and the last
            code, text = launch("-n", "3", "--min", "2", worker=[60, "die", victim, 20])
            self.assertEqual(code, 0, text)
            self.assertIn(f"worker {victim} ended with 137; it is started again", text)
            survivors = {0, 1, 2} - {victim}
            self.assertLessEqual(survivors, set(finished(text)), text)
            self.assertEqual(set(finished(text).values()), {60}, text)
            again = {step for worker, _, _, step in rounds(text) if worker in survivors and step > 0}
            self.assertIn(18, again, text)  # it commits after every third step

    def test_deaths_at_random_moments(self):
        """Whatever dies, the steps that were committed stay, and the ranks agree (the worker checks it)."""
        seed = random.randrange(1 << 30)
        chance = random.Random(seed)
        steps = os.path.join(self.folder, "steps")
        process = launch("-n", "3", "--min", "1", "--restarts", "1000", worker=[10**9, "file", steps], wait=False)
        alive, lines, deaths, killed = {}, [f"seed {seed}"], 0, set()
        try:
            while deaths < 12:
                line = process.stdout.readline()
                self.assertTrue(line, "\n".join(lines))
                lines.append(line.rstrip())
                found = re.search(r"worker (\d+) is rank \d of \d at step \d+ .process (\d+)", line)
                if found and int(found[2]) not in killed:  # which may have said so before it died
                    alive[int(found[1])] = int(found[2])
                    # A while after it began, or right away, while the others still meet.
                    for _ in range(chance.choice([0, 0, 1000, 100000])):
                        pass
                    if len(alive) > 1:
                        victim = chance.choice(list(alive))
                        killed.add(alive[victim])
                        os.kill(alive.pop(victim), signal.SIGKILL)
                        deaths += 1
        finally:
            process.send_signal(signal.SIGTERM)
            lines.append(process.communicate(timeout=TIME)[0])
        text = "\n".join(lines)
        self.assertNotIn("disagree", text)
        self.assertNotIn("error:", text)
        with open(steps, encoding="utf-8") as file:
            numbers = [int(line.split()[0]) for line in file]
        for before, after in zip(numbers, numbers[1:]):
            # Back to a commit, which is after every third step, and not further.
            self.assertTrue(after == before + 1 or (after % 3 == 0 and before - 2 <= after <= before + 1), text)

    def test_a_worker_that_stops_is_left_behind(self):
        process = launch("-n", "3", "--min", "1", "--elastic_timeout", "2", worker=[3000, "timeout", 2, "grow", 3],
                         wait=False)
        lines = []
        line = ""
        while "worker 1 is rank" not in line:
            line = process.stdout.readline()
            lines.append(line)
        os.kill(int(re.search(r"process (\d+)", line)[1]), signal.SIGSTOP)
        lines.append(process.communicate(timeout=TIME)[0])
        text = "".join(lines)
        self.assertEqual(process.returncode, 0, text)
        self.assertIn("worker 1 does not come to the next round and is killed", text)
        self.assertLessEqual({0, 2}, set(finished(text)), text)

    def test_the_replacement_joins(self):
        code, text = launch("-n", "2", "--min", "1", worker=[30, "die", 1, 10, "grow", 2])
        self.assertEqual(code, 0, text)
        self.assertIn(2, finished(text), text)
        sizes = [size for worker, _, size, _ in rounds(text) if worker == 0]
        self.assertEqual((sizes[0], sizes[-1]), (2, 2), text)

    def test_a_worker_that_fails_again_and_again_is_given_up(self):
        code, text = launch("-n", "2", "--min", "1", "--restarts", "1", worker=[30, "fail", 1, 10])
        self.assertEqual(code, 0, text)
        self.assertEqual(finished(text), {0: 30}, text)

    def test_too_few_workers_end_the_job(self):
        code, text = launch("-n", "2", "--min", "2", "--restarts", "0", worker=[30, "fail", 1, 10])
        self.assertEqual(code, 7, text)
        self.assertIn("fewer than 2 workers are left", text)

    def test_hosts_come_and_go(self):
        hosts, program = self.discovery("localhost:1\n")
        steps = os.path.join(self.folder, "steps")
        process = launch("--min", "1", "--discovery", program, worker=[10**9, "file", steps], wait=False)
        lines = []

        def until(*patterns):
            """Reads until each has been printed, in any order."""
            waiting = set(patterns)
            while waiting:
                line = process.stdout.readline()
                if not line:
                    self.fail("".join(lines))
                lines.append(line)
                waiting -= {pattern for pattern in waiting if re.search(pattern, line)}

        try:
            until(r"worker 0 is rank 0 of 1 at step 0")
            self.write(hosts, "localhost:3\n")
            until(r"worker 0 is rank 0 of 3 at step [1-9]", r"is rank 2 of 3")
            self.write(hosts, "localhost:2\n")
            until(r"worker \d is to leave host localhost", r"worker 0 is rank 0 of 2 at step [1-9]",
                  r"CANCELLED: This worker has left")
        finally:
            process.send_signal(signal.SIGTERM)
            lines.append(process.communicate(timeout=TIME)[0])
        self.assertEqual(process.returncode, 128 + signal.SIGTERM)
        # No step is lost: who comes or goes waits for a commit.
        with open(steps, encoding="utf-8") as file:
            numbers = [int(line.split()[0]) for line in file]
        self.assertEqual(numbers, list(range(len(numbers))))

    def test_a_discovery_that_fails_changes_nothing(self):
        code, text = launch("--min", "1", "--discovery", f"echo localhost:2; test -e {self.folder}/none || exit 0",
                            worker=[20])
        self.assertEqual(code, 0, text)
        self.assertEqual(set(finished(text).values()), {20}, text)

    def test_a_program_that_calls_init_is_told(self):
        ranks = os.path.join(os.path.dirname(WORKER), "collective_ranks")
        process = subprocess.run([WEIR, "launch", "--elastic", "-n", "2", "--restarts", "0", "--", ranks], text=True,
                                 capture_output=True, timeout=TIME, check=False)
        self.assertNotEqual(process.returncode, 0)
        self.assertIn("weir::collective::RunElastic", process.stdout)


class SeveralHosts(network_namespaces.TwoHosts):
    """The launcher runs on the first of two hosts."""

    def launch(self, *worker, flags=()):
        command = ["ip", "netns", "exec", self.names[0], WEIR, "launch", "--elastic", "--min", "1", "--hosts",
                   f"localhost:2,{self.names[1]}:2", "--agent", self.agent, "--address", self.addresses[0], *flags, "--",
                   WORKER]
        done = subprocess.run(command + [str(word) for word in worker], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=TIME, check=False)
        return done.returncode, done.stdout

    def test_deaths_on_either_host(self):
        for victim, flags in ((0, []), (3, []), (3, ["--tls"])):
            code, text = self.launch(60, "die", victim, 20, flags=flags)
            self.assertEqual(code, 0, text)
            self.assertEqual(set(finished(text).values()), {60}, text)
            self.assertLessEqual({0, 1, 2, 3} - {victim}, set(finished(text)), text)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[3:])
