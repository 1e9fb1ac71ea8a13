"""Generators of cases for scripts/compare_ops, by family."""

from . import arrays, containers, draws, images, networks, numbers, signals, sparse, states, text  # noqa: F401
