#!/usr/bin/env python3
"""Programs that use weir::collective under a real Slurm: munged, slurmctld and two slurmd of this machine, which are
started for the test. Needs root and Debian's slurm-wlm and munge (`make slurm` installs them).

    tests/slurm_test.py build/release/bin/weir build/release/bin/collective_ranks
"""

import os
import pwd
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest

import launch_test

WEIR, RANKS = [os.path.abspath(path) for path in sys.argv[1:3]]
TIME = 120

CONFIG = """
ClusterName=weir
SlurmctldHost={host}
SlurmctldPort={controller}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SwitchType=switch/none
MpiDefault=none
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=5
NodeName=weir[1-2] NodeHostname={host} NodeAddr=127.0.0.1 Port={nodes} CPUs=4 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class Slurm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="weir_slurm_")
        cls.daemons = []
        os.chmod(cls.folder, 0o755)
        for name in ("state", "munge"):
            os.mkdir(os.path.join(cls.folder, name), 0o755)
        munge = pwd.getpwnam("munge")
        with open(os.path.join(cls.folder, "munge", "key"), "wb") as file:
            file.write(os.urandom(128))
        os.chmod(os.path.join(cls.folder, "munge", "key"), 0o400)
        for name in ("munge", "munge/key"):
            os.chown(os.path.join(cls.folder, name), munge.pw_uid, munge.pw_gid)
        controller, first, second = free_ports(3)
        cls.config = os.path.join(cls.folder, "slurm.conf")
        with open(cls.config, "w", encoding="utf-8") as file:
            file.write(CONFIG.format(host=socket.gethostname().split(".")[0], folder=cls.folder, controller=controller,
                                     nodes=f"[{first},{second}]"))
        cls.environment = dict(os.environ, SLURM_CONF=cls.config)
        try:
            cls.start("munged", "--foreground", "--force", f"--key-file={cls.folder}/munge/key",
                      f"--socket={cls.folder}/munge.socket", f"--pid-file={cls.folder}/munge/pid",
                      f"--log-file={cls.folder}/munge/log", f"--seed-file={cls.folder}/munge/seed",
                      preexec_fn=lambda: (os.setgid(munge.pw_gid), os.setuid(munge.pw_uid)), before=cls.own_folder)
            cls.start("slurmctld", "-D")
            for node in ("weir1", "weir2"):
                cls.start("slurmd", "-D", "-N", node)
            # The nodes are there when a job runs on both.
            done = cls.srun("-N", "2", "-n", "2", "--immediate=60", "true")
            if done.returncode != 0:
                raise RuntimeError(done.stdout + cls.logs())
        except BaseException:
            cls.tearDownClass()
            raise

    @classmethod
    def own_folder(cls):
        """munged makes its socket in a folder of its own user only."""
        user = pwd.getpwnam("munge")
        os.chown(cls.folder, user.pw_uid, user.pw_gid)

    @classmethod
    def start(cls, *command, before=None, **options):
        if before:
            before()
        log = open(os.path.join(cls.folder, f"{command[0]}{len(cls.daemons)}.out"), "w", encoding="utf-8")
        with log:
            cls.daemons.append(subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=cls.environment,
                                                **options))

    @classmethod
    def logs(cls):
        out = ""
        for name in sorted(os.listdir(cls.folder)):
            if name.endswith((".log", ".out")):
                with open(os.path.join(cls.folder, name), encoding="utf-8", errors="replace") as file:
                    out += f"\n== {name}\n" + "".join(file.readlines()[-15:])
        return out

    @classmethod
    def tearDownClass(cls):
        for daemon in reversed(cls.daemons):
            daemon.terminate()
        for daemon in cls.daemons:
            try:
                daemon.wait(timeout=20)
            except subprocess.TimeoutExpired:
                daemon.kill()
        shutil.rmtree(cls.folder, ignore_errors=True)

    @classmethod
    def srun(cls, *command, **variables):
        return subprocess.run(["srun", *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=TIME, env=dict(cls.environment, **variables), check=False)

    def check_places(self, hosts, *flags, **variables):
        done = self.srun(*flags, RANKS, **variables)
        self.assertEqual(done.returncode, 0, done.stdout + self.logs())
        self.assertEqual(launch_test.places(done.stdout), launch_test.expected(hosts), done.stdout)
        return done.stdout

    def test_one_node(self):
        self.assertIn("(Slurm)", self.check_places([4], "-N", "1", "-n", "4"))

    def test_one_task(self):
        self.check_places([1], "-n", "1")

    def test_two_nodes_in_blocks(self):
        # Both nodes are this machine, whose name is not theirs: an address says where rank 0 is.
        self.check_places([2, 2], "-N", "2", "--ntasks-per-node=2", "--distribution=block", WEIR_ADDRESS=self.address())

    def test_two_nodes_in_turn(self):
        done = self.srun("-N", "2", "--ntasks-per-node=2", "--distribution=cyclic", RANKS, WEIR_ADDRESS=self.address())
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(launch_test.places(done.stdout), [f"rank {rank} of 4, {rank // 2} of 2 on host {rank % 2} of 2"
                                                           for rank in range(4)], done.stdout)

    def test_an_arbitrary_distribution(self):
        nodes = os.path.join(self.folder, "nodes")
        with open(nodes, "w", encoding="utf-8") as file:
            file.write("weir1\nweir2\nweir2\nweir1\n")
        done = self.srun("-n", "4", "--distribution=arbitrary", "-w", nodes, RANKS, SLURM_HOSTFILE=nodes,
                         WEIR_ADDRESS=self.address())
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(len(launch_test.places(done.stdout)), 4, done.stdout)
        self.assertEqual(set(re.findall(r"of 2 on host (\d) of 2", done.stdout)), {"0", "1"}, done.stdout)

    def test_two_steps_at_the_same_time(self):
        """They share the job, but not the port."""
        script = f"srun --exact -n 2 -N 1 {RANKS} & srun --exact -n 2 -N 1 {RANKS} & wait"
        done = self.batch(script, "-N", "1", "-n", "4")
        self.assertEqual(launch_test.places(done), sorted(launch_test.expected([2]) * 2), done)

    def test_the_job_script_of_the_guide(self):
        guide = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "docs", "guide", "hpc.md")
        with open(guide, encoding="utf-8") as file:
            script = re.search(r"```bash\n(#!/bin/bash\n#SBATCH.*?)```", file.read(), re.DOTALL)[1]
        self.assertIn("srun --kill-on-bad-exit=1 ./trainer", script)
        script = re.sub(r"\./trainer.*", RANKS, script).replace("--nodes=2", "--nodes=1")
        script = script.replace("--ntasks-per-node=4", "--ntasks-per-node=2").replace("--cpus-per-task=8",
                                                                                      "--cpus-per-task=1")
        self.assertEqual(launch_test.places(self.batch(script)), launch_test.expected([2]))

    def test_a_rank_that_dies_ends_the_step(self):
        done = self.srun("-N", "1", "-n", "3", "--kill-on-bad-exit=1", RANKS, "60", "die", "1")
        self.assertNotEqual(done.returncode, 0)
        for line in done.stdout.splitlines():
            if "error:" in line and "srun" not in line:
                self.assertRegex(line, r"ank 1 ")

    def batch(self, script, *flags):
        path, out = os.path.join(self.folder, "job.sh"), os.path.join(self.folder, "job.out")
        with open(path, "w", encoding="utf-8") as file:
            file.write(script if script.startswith("#!") else f"#!/bin/bash\n{script}\n")
        done = subprocess.run(["sbatch", "--wait", f"--output={out}", *flags, path], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=TIME, env=self.environment, check=False)
        with open(out, encoding="utf-8") as file:
            text = file.read()
        self.assertEqual(done.returncode, 0, done.stdout + text + self.logs())
        return text

    def address(self):
        return f"127.0.0.1:{free_ports(1)[0]}"


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[3:])
