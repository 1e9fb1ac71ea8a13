"""TFRecord files, and whole files as tensors."""

import os
import struct
import zlib

from weir.framework import as_dtype, convert_to_tensor, raw_ops
from weir.ops import dtypes


def _crc_table():
    table = []
    for i in range(256):
        value = i
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


_TABLE = _crc_table()


def masked_crc32c(data):
    """The checksum of a record: CRC-32C, rotated and with a constant added."""
    value = 0xFFFFFFFF
    for byte in data:
        value = _TABLE[(value ^ byte) & 0xFF] ^ value >> 8
    value ^= 0xFFFFFFFF
    return ((value >> 15 | value << 17) + 0xA282EAD8) & 0xFFFFFFFF


class TFRecordCompressionType:
    """compat.v1: how TFRecord files are compressed, by number."""

    NONE, ZLIB, GZIP = 0, 1, 2


class TFRecordOptions:
    """How a TFRecord file is compressed: "", "ZLIB" or "GZIP"."""

    compression_type_map = {0: "", 1: "ZLIB", 2: "GZIP"}

    def __init__(self, compression_type=None, flush_mode=None, input_buffer_size=None, output_buffer_size=None,
                 window_bits=None, compression_level=None, compression_method=None, mem_level=None,
                 compression_strategy=None):
        compression_type = self.compression_type_map.get(compression_type, compression_type)
        if compression_type not in (None, "", "ZLIB", "GZIP"):
            raise ValueError(f"Not a valid compression_type: {compression_type!r}")
        self.compression_type = compression_type or ""
        self.compression_level = compression_level
        del flush_mode, input_buffer_size, output_buffer_size, window_bits, compression_method, mem_level
        del compression_strategy


class TFRecordWriter:
    """Writes records to a file."""

    def __init__(self, path, options=None):
        kind = options if isinstance(options, str) else getattr(options, "compression_type", "")
        level = getattr(options, "compression_level", None)
        self._file = open(os.fspath(path), "wb")
        bits = {"GZIP": 31, "ZLIB": 15}.get(kind or "")
        self._compressor = None if bits is None else zlib.compressobj(-1 if level is None else level, zlib.DEFLATED, bits)

    def _put(self, data):
        self._file.write(data if self._compressor is None else self._compressor.compress(data))

    def write(self, record):
        """Writes one record of bytes."""
        record = record.encode() if isinstance(record, str) else bytes(record)
        header = struct.pack("<Q", len(record))
        self._put(header + struct.pack("<I", masked_crc32c(header)) + record + struct.pack("<I", masked_crc32c(record)))

    def flush(self):
        """Hands what was written to the system."""
        self._file.flush()

    def close(self):
        """Ends the file."""
        if not self._file.closed:
            if self._compressor is not None:
                self._file.write(self._compressor.flush())
            self._file.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def tf_record_iterator(path, options=None):
    """The records of a file, one by one."""
    kind = options if isinstance(options, str) else getattr(options, "compression_type", "")
    from weir.data.readers import TFRecordDataset
    from weir.framework.graph import eager_mode
    with eager_mode():  # programs of TensorFlow 1 read files outside of their graphs
        records = iter(TFRecordDataset(os.fspath(path), compression_type=kind or ""))
    while True:
        with eager_mode():
            record = next(records, None)
        if record is None:
            return
        yield record.numpy()


def read_file(filename, name=None):
    """The contents of a file, a string scalar."""
    return raw_ops.ReadFile(filename=filename, name=name)


def write_file(filename, contents, name=None):
    """Writes a string to a file, making folders as needed."""
    return raw_ops.WriteFile(filename=filename, contents=contents, name=name)


def matching_files(pattern, name=None):
    """The names of files that match a pattern."""
    return raw_ops.MatchingFiles(pattern=pattern, name=name)


def serialize_tensor(tensor, name=None):
    """A tensor as a serialized TensorProto."""
    return raw_ops.SerializeTensor(tensor=tensor, name=name)


def parse_tensor(serialized, out_type, name=None):
    """The tensor of a serialized TensorProto."""
    return raw_ops.ParseTensor(serialized=serialized, out_type=as_dtype(out_type), name=name)


def decode_raw(input_bytes, out_type, little_endian=True, fixed_length=None, name=None):
    """The numbers whose bytes a string holds."""
    if fixed_length is not None:
        return raw_ops.DecodePaddedRaw(input_bytes=input_bytes, fixed_length=fixed_length, out_type=as_dtype(out_type),
                                       little_endian=little_endian, name=name)
    return raw_ops.DecodeRaw(bytes=input_bytes, out_type=as_dtype(out_type), little_endian=little_endian, name=name)


def decode_csv(records, record_defaults, field_delim=",", use_quote_delim=True, na_value="", select_cols=None,
               name=None):
    """The columns of CSV rows; a default gives a column's type and, unless empty, the value of empty fields."""
    defaults = [convert_to_tensor(default) for default in record_defaults]
    return raw_ops.DecodeCSV(records=convert_to_tensor(records, dtype=dtypes.string), record_defaults=defaults,
                             field_delim=field_delim, use_quote_delim=use_quote_delim, na_value=na_value,
                             select_cols=list(select_cols or []), name=name)


def decode_compressed(bytes, compression_type="", name=None):  # pylint: disable=redefined-builtin
    """Strings decompressed."""
    return raw_ops.DecodeCompressed(bytes=bytes, compression_type=compression_type or "", name=name)


def decode_json_example(json_examples, name=None):
    """Examples in JSON as serialized protos."""
    return raw_ops.DecodeJSONExample(json_examples=json_examples, name=name)


def encode_base64(input, pad=False, name=None):  # pylint: disable=redefined-builtin
    """Strings in web-safe base64."""
    return raw_ops.EncodeBase64(input=input, pad=pad, name=name)


def decode_base64(input, name=None):  # pylint: disable=redefined-builtin
    """Strings of web-safe base64."""
    return raw_ops.DecodeBase64(input=input, name=name)
