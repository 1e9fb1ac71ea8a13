"""CIFAR-10: coloured pictures of ten kinds of things."""

from weir.datasets import drawn, files

__all__ = ["load_data"]


def load_data():
    """((x, y), (x_test, y_test)): pictures [n, 32, 32, 3] and labels [n, 1], as bytes."""
    found = files.find("cifar10.npz")
    if found is not None:
        return files.read_npz(found)
    read = files.cifar_archive(
        ["cifar-10-python.tar.gz", "cifar-10-batches-py.tar.gz", "cifar-10-binary.tar.gz"],
        ["cifar-10-batches-py", "cifar-10-batches-bin"],
        {"train": [f"data_batch_{i}" for i in range(1, 6)], "test": ["test_batch"]}, (b"labels", 1, 0))
    if read is not None:
        return read["train"], read["test"]
    files.stand_in("CIFAR-10", "cifar-10-python.tar.gz or cifar-10-binary.tar.gz, or what is inside,")
    return drawn.coloured(10)
