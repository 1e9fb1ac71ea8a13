"""Tapes, custom gradients and functions."""
