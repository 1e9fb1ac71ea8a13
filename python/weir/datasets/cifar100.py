"""CIFAR-100: coloured pictures of a hundred kinds of things, in twenty groups."""

from weir.datasets import drawn, files

__all__ = ["load_data"]


def load_data(label_mode="fine"):
    """((x, y), (x_test, y_test)): pictures [n, 32, 32, 3] and labels [n, 1], as bytes. With "coarse" the labels are the
    groups'."""
    if label_mode not in ("fine", "coarse"):
        raise ValueError(f'`label_mode` must be one of `"fine"`, `"coarse"`. Received: label_mode={label_mode}.')
    found = files.find(f"cifar100_{label_mode}.npz")
    if found is not None:
        return files.read_npz(found)
    read = files.cifar_archive(
        ["cifar-100-python.tar.gz", "cifar-100-binary.tar.gz"], ["cifar-100-python", "cifar-100-binary"],
        {"train": ["train"], "test": ["test"]}, (f"{label_mode}_labels".encode(), 2, int(label_mode == "fine")))
    if read is not None:
        return read["train"], read["test"]
    files.stand_in("CIFAR-100", "cifar-100-python.tar.gz or cifar-100-binary.tar.gz, or what is inside,")
    train, test = drawn.coloured(100)
    if label_mode == "coarse":
        train, test = (train[0], train[1] // 5), (test[0], test[1] // 5)
    return train, test
