#!/usr/bin/env python3
"""Writes sobol_numbers.bin: the numbers with which the directions of Sobol sequences begin, as S. Joe and F. Y. Kuo chose
them ("Constructing Sobol sequences with better two-dimensional projections", 2008). TensorFlow's SobolSample tells them.

The polynomials of the dimensions are all primitive ones up to degree 18, so they need not be stored. For each dimension but
the first, whose polynomial has degree s, there are numbers m_0 ... m_(s-1), m_i odd and below 2^(i+1): the i bits above the
lowest are stored, low bits first, one number after the other, from the low bits of each byte up. They are as good as
random: no compression makes them smaller.
"""

import os
import pathlib

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf

DIMENSIONS = 21200
# How many primitive polynomials there are of degrees 1, 2, ...
POLYNOMIALS = [1, 1, 2, 2, 6, 6, 18, 16, 48, 60, 176, 144, 630, 756, 1800, 2048, 7710, 7776]


def main():
    # The Gray code of the point after 2^(k+1) - 2 others has bit k alone: the point is the direction itself.
    directions = []
    for k in range(len(POLYNOMIALS)):
        point = tf.raw_ops.SobolSample(dim=DIMENSIONS, num_results=1, skip=2 ** (k + 1) - 2, dtype=tf.float64)[0]
        directions.append((point.numpy() * 2 ** (k + 1)).astype(np.int64))
    degrees = np.repeat(np.arange(1, len(POLYNOMIALS) + 1), POLYNOMIALS)[: DIMENSIONS - 1]
    bits = []
    for dimension, degree in enumerate(degrees, 1):
        for i in range(degree):
            number = int(directions[i][dimension])
            assert number % 2 == 1 and number < 2 ** (i + 1)
            bits += [number >> b & 1 for b in range(1, i + 1)]
    packed = np.packbits(np.array(bits, np.uint8), bitorder="little").tobytes()
    pathlib.Path(__file__).with_name("sobol_numbers.bin").write_bytes(packed)


if __name__ == "__main__":
    main()
