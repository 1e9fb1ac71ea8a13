"""Hosts on one machine, for tests."""

import os
import shutil
import subprocess
import tempfile
import unittest


class TwoHosts(unittest.TestCase):
    """Two hosts, each a network namespace, with a cable between them."""

    @classmethod
    def setUpClass(cls):
        if os.geteuid() != 0 or not shutil.which("ip"):
            raise unittest.SkipTest("network namespaces need root and iproute2")
        cls.folder = tempfile.mkdtemp()
        cls.names = [f"weirl{os.getpid()}{side}" for side in "ab"]
        third, fourth = (os.getpid() >> 6) & 255, (os.getpid() & 63) * 4
        cls.addresses = [f"198.19.{third}.{fourth + i}" for i in (1, 2)]
        cables = [f"wl{os.getpid()}{side}" for side in "ab"]
        commands = [["netns", "add", name] for name in cls.names]
        commands += [["link", "add", cables[0], "netns", cls.names[0], "type", "veth", "peer", "name", cables[1], "netns",
                      cls.names[1]]]
        for name, address, cable in zip(cls.names, cls.addresses, cables):
            commands += [["-n", name, "addr", "add", address + "/30", "dev", cable],
                         ["-n", name, "link", "set", cable, "up"], ["-n", name, "link", "set", "lo", "up"]]
        for command in commands:
            if subprocess.run(["ip"] + command, stderr=subprocess.DEVNULL, check=False).returncode != 0:
                cls.tearDownClass()
                raise unittest.SkipTest("network namespaces are not permitted here")
        cls.cable = cables[0]
        cls.agent = os.path.join(cls.folder, "agent")
        with open(cls.agent, "w") as file:
            file.write('#!/bin/sh\nexec ip netns exec "$1" sh -c "$2"\n')
        os.chmod(cls.agent, 0o755)

    @classmethod
    def tearDownClass(cls):
        for name in cls.names:
            subprocess.run(["ip", "netns", "del", name], stderr=subprocess.DEVNULL, check=False)
        shutil.rmtree(cls.folder)
