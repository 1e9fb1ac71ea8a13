"""weir.datasets: files in the forms in which they are published, and what stands in for them."""

import gzip
import io
import os
import pickle
import struct
import tarfile
import tempfile
import unittest
import warnings
from unittest import mock

import numpy as np
import weir
from weir import datasets  # noqa: F401
from weir.datasets import cifar10, cifar100, fashion_mnist, files, imdb, mnist


def idx(array):
    return struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.tobytes()


class _Evil:
    def __reduce__(self):
        return os.system, ("true",)


class FilesTest(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.folder = self._folder.name
        changed = mock.patch.dict(os.environ, WEIR_DATA=self.folder, KERAS_HOME=os.path.join(self.folder, "keras"))
        changed.start()
        self.addCleanup(changed.stop)
        warnings.simplefilter("error", datasets.StandInWarning)
        self.addCleanup(warnings.resetwarnings)
        self.rng = np.random.RandomState(0)

    def write(self, name, data):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as out:
            out.write(data)

    def bytes_of(self, *shape, most=256):
        return self.rng.randint(0, most, shape).astype(np.uint8)

    def equal(self, got, *expected):
        for a, b in zip([a for part in got for a in part], expected):
            np.testing.assert_array_equal(a, b)
            self.assertEqual(a.dtype, b.dtype)

    def test_idx_files(self):
        arrays = [self.bytes_of(5, 28, 28), self.bytes_of(5, most=10), self.bytes_of(3, 28, 28), self.bytes_of(3, most=10)]
        names = ["train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"]
        for name, array in zip(names, arrays):
            self.write(name + ".gz", gzip.compress(idx(array)))
            self.write("fashion-mnist/" + name, idx(array[::-1].copy()))
        self.equal(mnist.load_data(), *arrays)
        self.equal(fashion_mnist.load_data(), *[a[::-1] for a in arrays])
        self.write("train-labels-idx1-ubyte", idx(arrays[1])[:-1])
        with self.assertRaisesRegex(ValueError, "says that its shape"):
            mnist.load_data()

    def test_kerass_file_goes_first(self):
        arrays = [self.bytes_of(2, 28, 28), self.bytes_of(2), self.bytes_of(1, 28, 28), self.bytes_of(1)]
        written = io.BytesIO()
        np.savez(written, x_train=arrays[0], y_train=arrays[1], x_test=arrays[2], y_test=arrays[3])
        self.write("keras/datasets/mnist.npz", written.getvalue())
        self.equal(mnist.load_data(), *arrays)
        self.write("own.npz", written.getvalue())
        self.equal(mnist.load_data(os.path.join(self.folder, "own.npz")), *arrays)

    def cifar10(self):
        """The five batches and the test's: planes, labels."""
        return {name: (self.bytes_of(2, 3072), self.bytes_of(2, most=10))
                for name in [f"data_batch_{i}" for i in range(1, 6)] + ["test_batch"]}

    def check_cifar10(self, batches):
        planes = np.concatenate([batches[f"data_batch_{i}"][0] for i in range(1, 6)]).reshape(-1, 3, 32, 32)
        labels = np.concatenate([batches[f"data_batch_{i}"][1] for i in range(1, 6)])[:, None]
        test = batches["test_batch"]
        self.equal(cifar10.load_data(), planes.transpose(0, 2, 3, 1), labels,
                   test[0].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), test[1][:, None])

    def test_cifar10_of_python(self):
        batches = self.cifar10()
        for name, (data, labels) in batches.items():
            self.write(f"cifar-10-batches-py/{name}", pickle.dumps({b"data": data, b"labels": labels.tolist()}, 2))
        self.check_cifar10(batches)

    def test_cifar10_in_binary_in_an_archive(self):
        batches = self.cifar10()
        with tarfile.open(os.path.join(self.folder, "cifar-10-binary.tar.gz"), "w:gz") as archive:
            for name, (data, labels) in batches.items():
                content = np.concatenate([labels[:, None], data], 1).tobytes()
                about = tarfile.TarInfo(f"cifar-10-batches-bin/{name}.bin")
                about.size = len(content)
                archive.addfile(about, io.BytesIO(content))
        self.check_cifar10(batches)

    def test_cifar100(self):
        data = {name: self.bytes_of(3, 3072) for name in ("train", "test")}
        for name, planes in data.items():
            self.write(f"cifar-100-python/{name}", pickle.dumps(
                {b"data": planes, b"fine_labels": [7, 99, 0], b"coarse_labels": [1, 19, 0]}, 2))
        (_, fine), _ = cifar100.load_data()
        (pictures, coarse), _ = cifar100.load_data("coarse")
        self.assertEqual((fine.ravel().tolist(), coarse.ravel().tolist()), ([7, 99, 0], [1, 19, 0]))
        np.testing.assert_array_equal(pictures[0, :, :, 2].ravel(), data["train"][0, 2048:])
        with self.assertRaises(ValueError):
            cifar100.load_data("medium")

    def test_a_file_of_data_runs_no_code(self):
        self.write("cifar-100-python/train", pickle.dumps(_Evil()))
        with self.assertRaises(pickle.UnpicklingError):
            cifar100.load_data()

    def test_reviews(self):
        def lists(*values):
            out = np.empty(len(values), object)
            out[:] = values
            return out
        train, test = lists([1, 2, 3], [4, 5], [9, 1, 1, 1, 1]), lists([2, 9], [3, 3, 3])
        written = io.BytesIO()
        np.savez(written, x_train=train, y_train=np.array([0, 1, 1]), x_test=test, y_test=np.array([1, 0]))
        self.write("imdb.npz", written.getvalue())
        (x, y), (x_test, y_test) = imdb.load_data(num_words=8)
        self.assertEqual(sorted(zip(x.tolist(), y.tolist())),
                         [([1, 2, 4, 4, 4, 4], 1), ([1, 4, 5, 6], 0), ([1, 7, 2], 1)])
        self.assertEqual(sorted(zip(x_test.tolist(), y_test.tolist())), [([1, 5, 2], 1), ([1, 6, 6, 6], 0)])
        (x, _), _ = imdb.load_data(num_words=20, maxlen=5, start_char=None, index_from=0, oov_char=None, skip_top=2)
        self.assertEqual(sorted(x.tolist()), [[2, 3], [4, 5]])
        with self.assertRaises(FileNotFoundError):
            imdb.get_word_index()


class StandInTest(unittest.TestCase):
    def setUp(self):
        changed = mock.patch.dict(os.environ, WEIR_DATA="/nowhere", KERAS_HOME="/nowhere/keras")
        changed.start()
        self.addCleanup(changed.stop)

    def test_it_says_where_the_files_belong(self):
        with self.assertWarnsRegex(datasets.StandInWarning, "put mnist.npz.* into /nowhere or /nowhere/keras/datasets"):
            (x, y), (x_test, y_test) = weir.datasets.mnist.load_data()
        self.assertEqual((x.shape, y.shape, x_test.shape, y_test.shape), ((60000, 28, 28), (60000,), (10000, 28, 28), (10000,)))
        self.assertEqual((x.dtype, y.dtype, sorted(set(y.tolist()))), (np.uint8, np.uint8, list(range(10))))
        # A picture is nearest to the mean of its own class: there is something to learn.
        means = np.stack([x[y == i].mean(0) for i in range(10)])
        some = x_test[:300].astype(np.float32)
        nearest = ((some[:, None] - means[None]) ** 2).sum((2, 3)).argmin(1)
        self.assertGreater((nearest == y_test[:300]).mean(), 0.5)

    def test_they_are_always_the_same(self):
        from weir.datasets import drawn
        first, second = drawn.reviews(50, 1), drawn.reviews(50, 1)
        self.assertEqual((first[0].tolist(), first[1].tolist()), (second[0].tolist(), second[1].tolist()))
        self.assertEqual(files.folders(), ["/nowhere", "/nowhere/keras/datasets"])


if __name__ == "__main__":
    unittest.main()
