"""Digits for the examples: MNIST's IDX files from the folder MNIST_DIR, or else digits drawn from seven segments."""

import gzip
import os
import struct

import numpy as np

# Which of the segments top, upper left, upper right, middle, lower left, lower right and bottom a digit has.
_SEGMENTS = ["1110111", "0010010", "1011101", "1011011", "0111010",
             "1101011", "1101111", "1010010", "1111111", "1111011"]


def _read(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as source:
        _, _, kind, rank = struct.unpack(">BBBB", source.read(4))
        if kind != 8:
            raise ValueError(f"{path} is no IDX file of bytes")
        shape = struct.unpack(f">{rank}I", source.read(4 * rank))
        return np.frombuffer(source.read(), np.uint8).reshape(shape)


def _find(folder, name):
    for candidate in (name, name + ".gz"):
        path = os.path.join(folder, candidate)
        if os.path.exists(path):
            return path
    raise FileNotFoundError(f"MNIST_DIR is {folder}, which has neither {name} nor {name}.gz")


def _draw(count, rng):
    labels = rng.randint(0, 10, count)
    pictures = np.zeros((count, 28, 28), np.float32)
    for picture, label in zip(pictures, labels):
        top, left, height, width = rng.randint(2, 6), rng.randint(4, 9), rng.randint(16, 20), rng.randint(8, 13)
        middle, bottom, right = top + height // 2, top + height, left + width
        lines = [((top, left), (top, right)), ((top, left), (middle, left)), ((top, right), (middle, right)),
                 ((middle, left), (middle, right)), ((middle, left), (bottom, left)),
                 ((middle, right), (bottom, right)), ((bottom, left), (bottom, right))]
        for has, ((y0, x0), (y1, x1)) in zip(_SEGMENTS[label], lines):
            if has == "1":
                picture[y0:y1 + 2, x0:x1 + 2] = 1.0
    pictures += rng.normal(0, 0.15, pictures.shape)
    return np.clip(pictures, 0, 1)[..., None].astype(np.float32), labels


def load(train=4000, test=1000):
    """(pictures [n, 28, 28, 1] from 0 to 1, labels) to train with, and the same to test with."""
    folder = os.environ.get("MNIST_DIR")
    if not folder:
        rng = np.random.RandomState(1)
        return _draw(train, rng), _draw(test, rng)
    out = []
    for part, count in (("train", train), ("t10k", test)):
        pictures = _read(_find(folder, f"{part}-images-idx3-ubyte"))[:count, ..., None].astype(np.float32) / 255
        out.append((pictures, _read(_find(folder, f"{part}-labels-idx1-ubyte"))[:count].astype(np.int64)))
    return tuple(out)
