"""python -m weir [--tf1] program.py arguments | -m module arguments | -c code

Runs a program in which `import tensorflow` gives weir. With --tf1 it gives TensorFlow 1's names, graphs by default.
"""

import os
import runpy
import sys


def main():
    arguments = sys.argv[1:]
    v1 = False
    if arguments and arguments[0] == "--tf1":
        v1 = True
        arguments = arguments[1:]
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__.strip())
        return 0 if arguments else 2
    os.environ.setdefault("KERAS_BACKEND", "tensorflow")
    from weir import _alias
    _alias.install(v1)
    if v1:
        from weir.compat.v1 import settings
        settings.disable_v2_behavior()
    if arguments[0] == "-c":
        if len(arguments) < 2:
            print("python -m weir -c needs code", file=sys.stderr)
            return 2
        sys.argv = ["-c"] + arguments[2:]
        sys.path.insert(0, "")
        import __main__
        exec(compile(arguments[1], "<string>", "exec"), {"__name__": "__main__", "__builtins__": __builtins__})
        return 0
    if arguments[0] == "-m":
        if len(arguments) < 2:
            print("python -m weir -m needs a module", file=sys.stderr)
            return 2
        sys.argv = arguments[1:]
        sys.path.insert(0, "")
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        return 0
    if not os.path.exists(arguments[0]):
        print(f"python -m weir: there is no file {arguments[0]!r}", file=sys.stderr)
        return 2
    sys.argv = arguments
    sys.path.insert(0, os.path.dirname(os.path.abspath(arguments[0])))
    runpy.run_path(arguments[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main())
