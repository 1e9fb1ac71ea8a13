"""Modules that TensorFlow keeps to itself and its tests import: tensorflow.python.util.nest and the like.

weir/_internal.py says which internal module of TensorFlow each of these stands for.
"""
