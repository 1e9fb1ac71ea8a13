"""tf.app.run: parses the flags and calls main."""

import sys

from weir.compat.v1 import flags

__all__ = ["run"]


def run(main=None, argv=None):
    """Calls `main` (or the program's) with the arguments that are no flags, and exits with what it gives."""
    arguments = list(argv or sys.argv)
    main = main or sys.modules["__main__"].main
    rest = flags.FLAGS(arguments, known_only=True)
    sys.exit(main(rest))
