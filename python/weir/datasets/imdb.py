"""Reviews of films, as lists of word numbers, and whether they are favourable."""

import json

import numpy as np

from weir.datasets import drawn, files

__all__ = ["get_word_index", "load_data"]


def _read(path):
    # The lists are objects inside the file, which only a pickle can hold: the restricted reader of `files` takes them.
    import io
    import zipfile
    out = {}
    with zipfile.ZipFile(path) as archive:
        for name in ("x_train", "y_train", "x_test", "y_test"):
            data = io.BytesIO(archive.read(name + ".npy"))
            version = np.lib.format.read_magic(data)
            shape, _, dtype = (np.lib.format.read_array_header_1_0 if version == (1, 0) else
                               np.lib.format.read_array_header_2_0)(data)
            if dtype.hasobject:
                out[name] = np.asarray(files._Arrays(data).load(), object).reshape(shape)
            else:
                out[name] = np.frombuffer(data.read(), dtype).reshape(shape)
    return (out["x_train"], out["y_train"]), (out["x_test"], out["y_test"])


def load_data(path="imdb.npz", num_words=None, skip_top=0, maxlen=None, seed=113, start_char=1, oov_char=2, index_from=3,
              **kwargs):
    """((x, y), (x_test, y_test)): arrays of lists, and labels. Words with numbers below `skip_top` or from `num_words` on
    become `oov_char`; every list begins with `start_char`, and words are numbered from `index_from` on."""
    if kwargs:
        raise TypeError(f"Unrecognized keyword arguments: {kwargs}.")
    found = files.find(path)
    if found is not None:
        parts = _read(found)
    else:
        files.stand_in("The IMDB data set", "imdb.npz")
        parts = drawn.reviews(25000, 31), drawn.reviews(25000, 32)
    rng = np.random.RandomState(seed)
    ready = []
    for texts, labels in parts:
        order = np.arange(len(texts))
        rng.shuffle(order)
        texts, labels = texts[order], labels[order]
        ready.append([[([start_char] if start_char is not None else []) + [w + (index_from or 0) for w in text]
                       for text in texts], labels])
    if maxlen:
        for part in ready:
            kept = [i for i, text in enumerate(part[0]) if len(text) < maxlen]
            if not kept:
                raise ValueError(f"After filtering for sequences shorter than maxlen={maxlen}, no sequence was kept. "
                                 "Increase maxlen.")
            part[0], part[1] = [part[0][i] for i in kept], part[1][kept]
    if not num_words:
        num_words = max(max(text) for part in ready for text in part[0])  # as Keras: the last word is left out
    out = []
    for texts, labels in ready:
        if oov_char is not None:
            texts = [[w if skip_top <= w < num_words else oov_char for w in text] for text in texts]
        else:
            texts = [[w for w in text if skip_top <= w < num_words] for text in texts]
        array = np.empty(len(texts), object)
        array[:] = texts
        out.append((array, labels))
    return tuple(out)


def get_word_index(path="imdb_word_index.json"):
    """{word: number}; `load_data` adds `index_from` to the numbers."""
    found = files.find(path)
    if found is not None:
        with open(found, encoding="utf-8") as source:
            return json.load(source)
    if files.find("imdb.npz") is not None:
        raise FileNotFoundError(f"imdb.npz is there, but {path} is not: put it into {' or '.join(files.folders())}")
    return drawn.review_words()
