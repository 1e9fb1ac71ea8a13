"""Datasets of files: text lines, TFRecords, records of fixed length, CSV."""

from weir.data import structure
from weir.data.dataset import AUTOTUNE, Dataset, _int64
from weir.framework import TensorSpec, as_dtype, convert_to_tensor, is_tensor, raw_ops
from weir.framework.dtypes import DType
from weir.ops import dtypes

_LINE = TensorSpec([], dtypes.string)


def _filenames(filenames):
    if isinstance(filenames, Dataset):
        return filenames
    if hasattr(filenames, "__fspath__"):
        filenames = filenames.__fspath__()
    if isinstance(filenames, (list, tuple)):
        filenames = [f.__fspath__() if hasattr(f, "__fspath__") else f for f in filenames]
    tensor = filenames if is_tensor(filenames) else convert_to_tensor(filenames, dtype=dtypes.string)
    if tensor.dtype != dtypes.string:
        raise TypeError(f"The `filenames` argument must contain `tf.string` elements. Got `{tensor.dtype!r}` elements.")
    from weir.ops import array
    return Dataset.from_tensor_slices(array.reshape(tensor, [-1]))


def _read(filenames, one_file, num_parallel_reads):
    files = _filenames(filenames)
    if num_parallel_reads is None:
        return files.flat_map(one_file)
    return files.interleave(one_file, cycle_length=num_parallel_reads, num_parallel_calls=num_parallel_reads)


class TextLineDataset(Dataset):
    """The lines of text files, without their ends."""

    _kind = "TextLineDatasetV2"

    def __init__(self, filenames, compression_type=None, buffer_size=None, num_parallel_reads=None, name=None):
        del name

        def one_file(filename):
            return Dataset(raw_ops.TextLineDataset(filenames=filename, compression_type=compression_type or "",
                                                   buffer_size=_int64(buffer_size or 0)), _LINE)

        inner = _read(filenames, one_file, num_parallel_reads)
        super().__init__(inner._variant_tensor, _LINE, inputs=[inner])


class TFRecordDataset(Dataset):
    """The records of TFRecord files."""

    _kind = "TFRecordDatasetV2"

    def __init__(self, filenames, compression_type=None, buffer_size=None, num_parallel_reads=None, name=None):
        del name

        def one_file(filename):
            return Dataset(raw_ops.TFRecordDataset(filenames=filename, compression_type=compression_type or "",
                                                   buffer_size=_int64(256 * 1024 if buffer_size is None else
                                                                      buffer_size)), _LINE)

        inner = _read(filenames, one_file, num_parallel_reads)
        super().__init__(inner._variant_tensor, _LINE, inputs=[inner])


class FixedLengthRecordDataset(Dataset):
    """Records of a fixed number of bytes."""

    _kind = "FixedLengthRecordDatasetV2"

    def __init__(self, filenames, record_bytes, header_bytes=None, footer_bytes=None, buffer_size=None,
                 compression_type=None, num_parallel_reads=None, name=None):
        del name

        def one_file(filename):
            return Dataset(raw_ops.FixedLengthRecordDatasetV2(
                filenames=filename, header_bytes=_int64(header_bytes or 0), record_bytes=_int64(record_bytes),
                footer_bytes=_int64(footer_bytes or 0), buffer_size=_int64(buffer_size or 0),
                compression_type=compression_type or ""), _LINE)

        inner = _read(filenames, one_file, num_parallel_reads)
        super().__init__(inner._variant_tensor, _LINE, inputs=[inner])


class CsvDataset(Dataset):
    """The rows of CSV files as tuples of columns; defaults give the types, types mean "required"."""

    _kind = "CsvDatasetV2"

    def __init__(self, filenames, record_defaults, compression_type=None, buffer_size=None, header=False,
                 field_delim=",", use_quote_delim=True, na_value="", select_cols=None, exclude_cols=None):
        from weir.ops import array
        defaults = []
        for default in record_defaults:
            if isinstance(default, (DType, type)):  # not a number, which would be the number of a type
                defaults.append(array.zeros([0], as_dtype(default)))
            else:
                defaults.append(array.reshape(convert_to_tensor(default), [-1]))
        spec = tuple(TensorSpec([], d.dtype) for d in defaults)
        variant = raw_ops.CSVDatasetV2(
            filenames=convert_to_tensor(filenames, dtype=dtypes.string), compression_type=compression_type or "",
            buffer_size=_int64(buffer_size or 4 * 1024 * 1024), header=convert_to_tensor(header),
            field_delim=field_delim, use_quote_delim=convert_to_tensor(use_quote_delim), na_value=na_value,
            select_cols=convert_to_tensor(select_cols or [], dtypes.int64), record_defaults=defaults,
            exclude_cols=convert_to_tensor(exclude_cols or [], dtypes.int64),
            output_shapes=[s.shape for s in structure.flat_specs(spec)])
        super().__init__(variant, spec)


def make_csv_dataset(file_pattern, batch_size, column_names=None, column_defaults=None, label_name=None,
                     select_columns=None, field_delim=",", use_quote_delim=True, na_value="", header=True,
                     num_epochs=None, shuffle=True, shuffle_buffer_size=10000, shuffle_seed=None,
                     prefetch_buffer_size=None, num_parallel_reads=None, sloppy=False, num_rows_for_inference=100,
                     compression_type=None, ignore_errors=False, encoding="utf-8"):
    """Batches of CSV rows as dictionaries by column, types inferred from the first rows unless given."""
    import csv
    import itertools
    from weir.io import gfile
    patterns = [file_pattern] if isinstance(file_pattern, str) else list(file_pattern)
    files = sorted(name for pattern in patterns for name in (gfile.glob(pattern) or [pattern]))
    if not files:
        raise ValueError(f"No files match {file_pattern}")
    with open(files[0], newline="", encoding=encoding) as source:
        rows = list(itertools.islice(csv.reader(source, delimiter=field_delim), num_rows_for_inference or 100))
    if column_names is None:
        if not header:
            raise ValueError("Expected `column_names` where `header` is False")
        column_names = rows[0]
    if len(set(column_names)) != len(column_names):
        raise ValueError("Cannot have duplicate column names.")
    if header:
        rows = rows[1:]
    if select_columns is not None:
        indices = sorted(column_names.index(c) if isinstance(c, str) else c for c in select_columns)
    else:
        indices = list(range(len(column_names)))
    names = [column_names[i] for i in indices]
    if label_name is not None and label_name not in names:
        raise ValueError("`label_name` provided must be one of the columns.")
    if column_defaults is None:
        column_defaults = [_infer([r[i] for r in rows if i < len(r)], na_value) for i in indices]
    dataset = CsvDataset(files, column_defaults, compression_type=compression_type, header=header,
                         field_delim=field_delim, use_quote_delim=use_quote_delim, na_value=na_value,
                         select_cols=indices)
    if ignore_errors:
        dataset = dataset.ignore_errors()
    if shuffle:
        dataset = dataset.shuffle(shuffle_buffer_size, shuffle_seed)
    dataset = dataset.repeat(num_epochs).batch(batch_size, drop_remainder=num_epochs is None)

    def as_dict(*columns):
        features = dict(zip(names, columns))
        if label_name is not None:
            label = features.pop(label_name)
            return features, label
        return features

    del num_parallel_reads, sloppy
    return dataset.map(as_dict).prefetch(AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size)


def _infer(values, na_value):
    """A default of the narrowest type that holds all values of a column."""
    kinds = ((int, [0]), (float, [0.0]))
    values = [v for v in values if v not in (na_value, "")]
    for convert, default in kinds:
        try:
            converted = [convert(v) for v in values]
        except ValueError:
            continue
        if convert is int and any(not -2**31 <= v < 2**31 for v in converted):
            import numpy as np
            return np.array([0], np.int64)
        return default
    return [""]
