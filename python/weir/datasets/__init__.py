"""weir.datasets: data to learn with, from files of this machine. Nothing is downloaded.

    (x, y), (x_test, y_test) = weir.datasets.mnist.load_data()

The functions and what they give are those of keras.datasets. Files are looked for in $WEIR_DATA and in Keras's folder,
~/.keras/datasets. Where there are none, data of the same shapes are made up, with a warning that says which files belong
where: good for trying programs, not for results.
"""

import importlib

from weir.datasets.files import StandInWarning  # noqa: F401

_MODULES = ("cifar10", "cifar100", "fashion_mnist", "imdb", "mnist")
__all__ = ["StandInWarning", *_MODULES]


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module("weir.datasets." + name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted(__all__)
