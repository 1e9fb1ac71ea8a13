"""Fashion-MNIST: pictures of clothes."""

from weir.datasets import drawn, files
from weir.datasets.mnist import _idx

__all__ = ["load_data"]


def load_data():
    """((x, y), (x_test, y_test)): pictures [n, 28, 28] and labels, as bytes."""
    found = files.find("fashion_mnist.npz", "fashion-mnist.npz")
    if found is not None:
        return files.read_npz(found)
    read = _idx(("fashion-mnist/", "fashion_mnist/", "FashionMNIST/raw/"))
    if read is not None:
        return read
    files.stand_in("Fashion-MNIST", "a folder fashion-mnist with train-images-idx3-ubyte.gz and the other three IDX files")
    return drawn.garments()
