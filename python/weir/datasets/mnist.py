"""MNIST: handwritten digits."""

from weir.datasets import drawn, files

__all__ = ["load_data"]


def _idx(folders):
    """The four IDX files in one of the folders, or None."""
    out = []
    for part in ("train", "t10k"):
        for kind in ("images-idx3", "labels-idx1"):
            names = [name + end for name in (f"{part}-{kind}-ubyte", f"{part}-{kind.replace('-', '.')}-ubyte")
                     for end in ("", ".gz")]
            path = files.find(*[f"{folder}{name}" for folder in folders for name in names])
            if path is None:
                return None
            out.append(files.read_idx(path))
    return (out[0], out[1]), (out[2], out[3])


def load_data(path="mnist.npz"):
    """((x, y), (x_test, y_test)): pictures [n, 28, 28] and labels, as bytes."""
    found = files.find(path)
    if found is not None:
        return files.read_npz(found)
    read = _idx(("mnist/", "MNIST/raw/", ""))
    if read is not None:
        return read
    files.stand_in("MNIST", "mnist.npz, or train-images-idx3-ubyte.gz and the other three IDX files,")
    return drawn.digits()
