"""How Clang's tools are called for the files of a build folder, which may be GCC's."""

import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


class Command:
    """One call of the compiler: the source, and those flags that matter to its meaning."""

    def __init__(self, entry):
        words = shlex.split(entry["command"])
        self.source = pathlib.Path(entry["directory"], entry["file"])
        self.flags, self.precompiled = [], None
        i = 0
        while i < len(words):
            word = words[i]
            if word in ("-I", "-isystem", "-D"):
                self.flags += words[i:i + 2]
                i += 1
            elif word.startswith(("-I", "-D", "-std=")) or word == "-pthread":
                self.flags.append(word)
            elif word == "-include" and words[i + 1].endswith("cmake_pch.hxx"):
                self.precompiled = words[i + 1]
                i += 1
            i += 1


def sources_of(command):
    """The sources that are compiled together: one, or those that a unity build includes."""
    if not re.fullmatch(r"unity_\d+_cxx\.cxx", command.source.name):
        return [command.source]
    return [pathlib.Path(path) for path in INCLUDE.findall(command.source.read_text())]


class Commands:
    """All of a build folder but those of generated sources."""

    def __init__(self, build):
        path = ROOT / build / "compile_commands.json"
        if not path.exists():
            sys.exit(f"{path} does not exist: build first (make)")
        entries = [Command(entry) for entry in json.loads(path.read_text())]
        generated = (ROOT / build / "proto_gen", ROOT / build / "generated")
        self.commands = [c for c in entries if not any(c.source.is_relative_to(g) for g in generated)]
        self.folder = tempfile.TemporaryDirectory()
        self.headers = {}

    def all(self):
        return self.commands

    def precompile(self, command, options):
        """Clang's own form of the header that a command includes first: a file, made once for each such header."""
        if command.precompiled not in self.headers:
            out = os.path.join(self.folder.name, f"{len(self.headers)}.pch")
            # The flags of one user will do: macros of single targets do not reach these headers.
            flags = [flag for flag in command.flags if not flag.startswith("-DWEIR_")]
            call = ["clang++", *flags, *options, "-x", "c++-header", command.precompiled, "-o", out]
            if subprocess.run(call).returncode != 0:
                sys.exit(1)
            self.headers[command.precompiled] = out
        return self.headers[command.precompiled]

    def check(self, command, options):
        """A call of Clang that only looks at a source."""
        first = ["-include-pch", self.precompile(command, options)] if command.precompiled else []
        return ["clang++", *command.flags, *first, *options, "-fsyntax-only", str(command.source)]


def processors():
    """Threads that wait for processes, as many as there are processors."""
    return ThreadPoolExecutor(len(os.sched_getaffinity(0)))
