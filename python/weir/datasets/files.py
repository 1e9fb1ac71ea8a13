"""Where the files of datasets are, and what is in them."""

import glob
import gzip
import os
import pickle
import struct
import tarfile
import warnings

import numpy as np

__all__ = ["StandInWarning", "cifar_archive", "find", "folders", "read_idx", "read_npz", "stand_in"]


class StandInWarning(UserWarning):
    """Data are made up, since there are no files."""


def folders():
    """Where files are looked for, in this order."""
    out = [os.environ["WEIR_DATA"]] if os.environ.get("WEIR_DATA") else []
    home = os.environ.get("KERAS_HOME") or os.path.join(os.path.expanduser("~"), ".keras")
    return out + [os.path.join(home, "datasets")]


def find(*patterns):
    """The first path that fits a pattern, in one of the folders; an absolute path is that file. None if there is none."""
    for pattern in patterns:
        if os.path.isabs(pattern):
            if os.path.exists(pattern):
                return pattern
            continue
        for folder in folders():
            found = sorted(glob.glob(os.path.join(glob.escape(folder), pattern)))
            if found:
                return found[0]
    return None


def stand_in(name, files):
    """Warns that data are made up."""
    warnings.warn(f"{name} is not on this machine: the data are made up, of the same shapes and types. For the real ones "
                  f"put {files} into {' or '.join(folders())}", StandInWarning, stacklevel=3)


def read_idx(path):
    """The array of an IDX file, compressed or not."""
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as source:
        head = source.read(4)
        if len(head) < 4 or head[:2] != b"\0\0" or head[2] != 8:
            raise ValueError(f"{path} is no IDX file of bytes")
        shape = struct.unpack(f">{head[3]}I", source.read(4 * head[3]))
        data = np.frombuffer(source.read(), np.uint8)
        if data.size != np.prod(shape):
            raise ValueError(f"{path} has {data.size} bytes of data, but says that its shape is {shape}")
        return data.reshape(shape).copy()


def read_npz(path):
    """((x, y), (x_test, y_test)) of a file of Keras's."""
    with np.load(path, allow_pickle=False) as arrays:
        return (arrays["x_train"], arrays["y_train"]), (arrays["x_test"], arrays["y_test"])


class _Arrays(pickle.Unpickler):
    """Reads arrays, texts and containers; other objects could run code."""

    _KNOWN = {("numpy", "ndarray"), ("numpy", "dtype"), ("numpy.core.multiarray", "_reconstruct"),
              ("numpy._core.multiarray", "_reconstruct"), ("_codecs", "encode")}

    def find_class(self, module, name):
        if (module, name) not in self._KNOWN:
            raise pickle.UnpicklingError(f"a file of data has no business with {module}.{name}")
        return super().find_class(module, name)


def cifar_archive(archives, folder_names, wanted, labels):
    """{part: (pictures, labels)} for the parts of CIFAR, from a folder or an archive, in Python's or the binary form.

    `wanted` are {part: [names of files without extension]}; `labels` the key of the Python form, and the number of label
    bytes and which of them counts in the binary form."""
    found = find(*[os.path.join(name, wanted["train"][0] + end) for name in folder_names for end in ("", ".bin")],
                 *[os.path.join("*", name, wanted["train"][0] + end) for name in folder_names for end in ("", ".bin")])
    if found is not None:
        base, end = os.path.dirname(found), ".bin" if found.endswith(".bin") else ""

        def read(name):
            with open(os.path.join(base, name + end), "rb") as source:
                return source.read()
    else:
        archive = find(*archives)
        if archive is None:
            return None
        contents = {}
        with tarfile.open(archive) as opened:
            for member in opened:
                if member.isfile():
                    contents[os.path.basename(member.name)] = opened.extractfile(member).read()
        end = ".bin" if wanted["train"][0] + ".bin" in contents else ""

        def read(name):
            if name + end not in contents:
                raise ValueError(f"{archive} has no {name + end}")
            return contents[name + end]
    key, label_bytes, which = labels
    out = {}
    for part, names in wanted.items():
        pictures, numbers = [], []
        for name in names:
            if end:
                rows = np.frombuffer(read(name), np.uint8).reshape(-1, label_bytes + 3072)
                numbers.append(rows[:, which])
                pictures.append(rows[:, label_bytes:])
            else:
                import io
                batch = _Arrays(io.BytesIO(read(name)), encoding="bytes").load()
                numbers.append(np.asarray(batch[key], np.uint8))
                pictures.append(batch[b"data"])
        planes = np.concatenate(pictures).reshape(-1, 3, 32, 32)
        out[part] = np.ascontiguousarray(planes.transpose(0, 2, 3, 1)), np.concatenate(numbers).astype(np.uint8)[:, None]
    return out
