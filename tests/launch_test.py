#!/usr/bin/env python3
"""Programs that use weir::collective, as `weir launch`, mpirun and torchrun-like launchers start them: on this host, and on
hosts that are network namespaces.

    tests/launch_test.py build/release/bin/weir build/release/bin/collective_ranks build/release/tests/libforeign_mpi.so
"""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

import network_namespaces

WEIR, RANKS, FOREIGN_MPI = [os.path.abspath(path) for path in sys.argv[1:4]]
FUNNELED_MPI = os.path.join(os.path.dirname(FOREIGN_MPI), "libfunneled_mpi.so")
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe"]


def run(command, timeout=90, **variables):
    """What a command prints, its errors too, and how it ends."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=timeout,
                          env=dict(os.environ, **variables), check=False)
    return done.returncode, done.stdout


def places(text):
    return sorted(re.findall(r"rank \d+ of \d+, \d+ of \d+ on host \d+ of \d+", text))


def expected(hosts):
    """The places of a job whose hosts have so many ranks."""
    size, out = sum(hosts), []
    for host, count in enumerate(hosts):
        for local in range(count):
            out.append(f"rank {len(out)} of {size}, {local} of {count} on host {host} of {len(hosts)}")
    return sorted(out)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class OneHost(unittest.TestCase):
    def test_launch(self):
        code, text = run([WEIR, "launch", "-n", "3", "--", RANKS])
        self.assertEqual(code, 0, text)
        self.assertEqual(places(text), expected([3]))
        for line in text.splitlines():
            self.assertRegex(line, r"^\[\d\] ")

    def test_the_first_failure_ends_all(self):
        code, text = run([WEIR, "launch", "-n", "3", "--", RANKS, "60", "fail", "1"])
        self.assertEqual(code, 3, text)
        self.assertIn("rank 1 ended with 3", text)

    def test_a_signal_ends_all(self):
        process = subprocess.Popen([WEIR, "launch", "-n", "2", "--", RANKS, "60", "sleep", "0"],
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for _ in range(2):
            self.assertIn("on host 0", process.stdout.readline())
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 128 + signal.SIGTERM)

    def test_too_few_slots(self):
        code, text = run([WEIR, "launch", "-n", "3", "--hosts", "localhost:2", "--", RANKS])
        self.assertNotEqual(code, 0)
        self.assertIn("2 slots", text)

    @unittest.skipUnless(shutil.which("mpirun"), "mpirun is not installed")
    def test_mpirun(self):
        code, text = run(["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "4", RANKS])
        self.assertEqual(code, 0, text)
        self.assertEqual(places(text), expected([4]))
        self.assertIn("(Open MPI)", text)

    @unittest.skipUnless(shutil.which("mpirun") and os.geteuid() == 0, "this needs mpirun and root")
    def test_mpirun_finds_rank_0_through_pmix(self):
        # mpirun knows one host; each pair of its ranks takes another host's name.
        enter = f"""export OMPI_COMM_WORLD_LOCAL_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=$((OMPI_COMM_WORLD_RANK % 2))
            exec unshare --uts sh -c 'hostname host$((OMPI_COMM_WORLD_RANK / 2)) && exec {RANKS}'"""
        code, text = run(["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "4", "sh", "-c", enter])
        if "unshare failed" in text:
            self.skipTest("hosts cannot be named here")
        self.assertEqual(code, 0, text)
        self.assertEqual(places(text), expected([2, 2]), text)

    @unittest.skipUnless(shutil.which("mpirun"), "mpirun is not installed")
    def test_mpi_as_transport(self):
        code, text = run(MPIRUN + ["-np", "4", RANKS], WEIR_TRANSPORT="mpi")
        self.assertEqual(code, 0, text)
        self.assertEqual(places(text), expected([4]))
        code, text = run(MPIRUN + ["-np", "3", RANKS, "60", "names"], WEIR_TRANSPORT="mpi")
        self.assertEqual(code, 0, text)
        self.assertEqual(text.count("all names"), 3, text)

    @unittest.skipUnless(shutil.which("mpirun") and os.path.exists(FUNNELED_MPI), "Open MPI is not installed")
    def test_an_mpi_that_allows_one_thread_is_called_on_one(self):
        for arguments in (["60"], ["60", "names"]):
            code, text = run(MPIRUN + ["-np", "2", RANKS] + arguments, WEIR_TRANSPORT="mpi",
                             WEIR_MPI_LIBRARY=FUNNELED_MPI)
            self.assertEqual(code, 0, text)

    @unittest.skipUnless(shutil.which("mpirun"), "mpirun is not installed")
    def test_a_rank_that_is_late_under_mpi_is_named(self):
        code, text = run(MPIRUN + ["-np", "3", RANKS, "2", "sleep", "1"], WEIR_TRANSPORT="mpi")
        self.assertNotEqual(code, 0, text)
        self.assertIn("After 2s these ranks of 3 have not come to the call: 1", text)

    @unittest.skipUnless(shutil.which("mpirun"), "mpirun is not installed")
    def test_a_rank_that_dies_under_mpi_ends_the_job(self):
        code, text = run(MPIRUN + ["-np", "3", RANKS, "60", "die", "1"], WEIR_TRANSPORT="mpi")
        self.assertNotEqual(code, 0, text)

    @unittest.skipUnless(shutil.which("mpirun"), "mpirun is not installed")
    def test_an_mpi_with_another_binary_interface_is_named(self):
        code, text = run(MPIRUN + ["-np", "2", RANKS], WEIR_TRANSPORT="mpi", WEIR_MPI_LIBRARY=FOREIGN_MPI)
        self.assertNotEqual(code, 0, text)
        self.assertIn("supports Open MPI, but the library found is MPICH Version: 9.9", text)

    def test_mpi_needs_its_own_launcher(self):
        code, text = run([WEIR, "launch", "-n", "2", "--", RANKS], WEIR_TRANSPORT="mpi")
        self.assertNotEqual(code, 0, text)
        self.assertIn("weir launch does not start MPI programs", text)

    def test_torchrun_variables_of_two_nodes(self):
        port, processes = free_port(), []
        for rank in range(4):
            env = dict(os.environ, RANK=str(rank), WORLD_SIZE="4", LOCAL_RANK=str(rank % 2), LOCAL_WORLD_SIZE="2",
                       GROUP_RANK=str(rank // 2), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
            processes.append(subprocess.Popen([RANKS], stdout=subprocess.PIPE, text=True, env=env))
        text = "".join(process.communicate(timeout=90)[0] for process in processes)
        self.assertEqual(places(text), expected([2, 2]), text)


class Namespaces(network_namespaces.TwoHosts):
    def launch(self, hosts, *arguments, flags=()):
        slots = ",".join(f"{name}:{count}" for name, count in zip(self.names, hosts))
        return [WEIR, "launch", "--hosts", slots, "--agent", self.agent, "--address", self.addresses[0], *flags, "--",
                RANKS, *arguments]

    def test_launch(self):
        for hosts in ([2, 2], [1, 2]):
            code, text = run(self.launch(hosts))
            self.assertEqual(code, 0, text)
            self.assertEqual(places(text), expected(hosts), text)

    def test_launch_with_tls(self):
        code, text = run(self.launch([1, 2], flags=["--tls"]))
        self.assertEqual(code, 0, text)
        self.assertEqual(places(text), expected([1, 2]), text)
        code, text = run(self.launch([1, 1], flags=["--tls", "--tls_cert", "none.pem"]))
        self.assertNotEqual(code, 0, text)
        self.assertIn("all three", text)

    def test_a_rank_that_dies_is_named_on_all_hosts(self):
        for victim in (0, 3):
            code, text = run(self.launch([2, 2], "60", "die", str(victim)))
            self.assertNotEqual(code, 0, text)
            # The launcher may end the others before they can say anything, but what they say names the right one.
            for line in text.splitlines():
                if "error:" in line:
                    self.assertRegex(line, rf"ank {victim} ")

    def test_the_first_failure_ends_ranks_on_other_hosts(self):
        code, text = run(self.launch([1, 1], "60", "fail", "1"))
        self.assertEqual(code, 3, text)

    def test_ranks_behind_a_broken_cable_are_named(self):
        # All ranks wait in a call that rank 1 never makes; meanwhile the cable is cut.
        process = subprocess.Popen(self.launch([2, 1], "3", "sleep", "1"), stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True)
        for _ in range(3):
            self.assertIn("on host", process.stdout.readline())
        subprocess.run(["ip", "-n", self.names[0], "link", "set", self.cable, "down"], check=True)
        try:
            text = process.communicate(timeout=60)[0]
        finally:
            subprocess.run(["ip", "-n", self.names[0], "link", "set", self.cable, "up"], check=True)
        self.assertRegex(text, r"\[0\] error: DEADLINE_EXCEEDED: After 3s these ranks of 3 have not come to the collective: 1, 2")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[4:])
