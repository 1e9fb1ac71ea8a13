"""Images as encoded files: JPEG, PNG, GIF, BMP."""

from weir.framework import as_dtype, raw_ops
from weir.ops import dtypes


def decode_image(contents, channels=None, dtype=dtypes.uint8, name=None, expand_animations=True):
    """The pixels of a BMP, GIF, JPEG or PNG file."""
    return raw_ops.DecodeImage(contents=contents, channels=channels or 0, dtype=as_dtype(dtype),
                               expand_animations=expand_animations, name=name)


def encode_png(image, compression=-1, name=None):
    """An image as a PNG file."""
    return raw_ops.EncodePng(image=image, compression=compression, name=name)


def decode_jpeg(contents, channels=0, ratio=1, fancy_upscaling=True, try_recover_truncated=False,
                acceptable_fraction=1, dct_method="", name=None):
    """The pixels of a JPEG file."""
    return raw_ops.DecodeJpeg(contents=contents, channels=channels, ratio=ratio, fancy_upscaling=fancy_upscaling,
                              try_recover_truncated=try_recover_truncated, acceptable_fraction=acceptable_fraction,
                              dct_method=dct_method, name=name)


def is_jpeg(contents, name=None):
    """Whether strings begin as JPEG files do."""
    from weir.ops import math, strings
    return math.equal(strings.substr(contents, 0, 3), b"\xff\xd8\xff", name=name)
