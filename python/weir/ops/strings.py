"""Strings: joining, splitting, formatting, regular expressions, Unicode, hashing."""

import re

from weir.framework import as_dtype, convert_to_tensor, dispatch, is_tensor, raw_ops
from weir.ops import array, dtypes, math


@dispatch
def length(input, unit="BYTE", name=None):  # pylint: disable=redefined-builtin
    """The length of each string in bytes, or in characters (`unit="UTF8_CHAR"`)."""
    return raw_ops.StringLength(input=input, unit=unit, name=name)


@dispatch
def substr(input, pos, len, unit="BYTE", name=None):  # pylint: disable=redefined-builtin
    """The part of each string that starts at `pos` and is at most `len` long."""
    return raw_ops.Substr(input=input, pos=pos, len=len, unit=unit, name=name)


@dispatch
def join(inputs, separator="", name=None):
    """Tensors of strings joined element by element."""
    return raw_ops.StringJoin(inputs=list(inputs) if not is_tensor(inputs) else array.unstack(inputs),
                              separator=separator, name=name)


@dispatch
def reduce_join(inputs, axis=None, keepdims=False, separator="", name=None):
    """The strings along `axis` joined into one."""
    inputs = convert_to_tensor(inputs, dtype=dtypes.string)
    if axis is None:
        # The op joins along the last dimension that is named first: reversed, this is row-major order.
        axis = array.reverse(math.reduction_axes(inputs, None), [0])
    return raw_ops.ReduceJoin(inputs=inputs, reduction_indices=axis, keep_dims=keepdims, separator=separator,
                              name=name)


@dispatch
def regex_full_match(input, pattern, name=None):  # pylint: disable=redefined-builtin
    """Whether each string matches the whole pattern (RE2's syntax)."""
    if isinstance(pattern, (str, bytes)):
        return raw_ops.StaticRegexFullMatch(input=input, pattern=pattern, name=name)
    return raw_ops.RegexFullMatch(input=input, pattern=pattern, name=name)


@dispatch
def regex_replace(input, pattern, rewrite, replace_global=True, name=None):  # pylint: disable=redefined-builtin
    r"""Matches of the pattern replaced by `rewrite`, in which `\1` to `\9` are groups; the first only if not global."""
    if isinstance(pattern, (str, bytes)) and isinstance(rewrite, (str, bytes)):
        return raw_ops.StaticRegexReplace(input=input, pattern=pattern, rewrite=rewrite,
                                          replace_global=replace_global, name=name)
    return raw_ops.RegexReplace(input=input, pattern=pattern, rewrite=rewrite, replace_global=replace_global,
                                name=name)


@dispatch
def to_number(input, out_type=dtypes.float32, name=None):  # pylint: disable=redefined-builtin
    """The number that each string spells."""
    return raw_ops.StringToNumber(string_tensor=input, out_type=as_dtype(out_type), name=name)


@dispatch
def to_hash_bucket(input, num_buckets, name=None):  # pylint: disable=redefined-builtin
    """A hash of each string modulo `num_buckets`."""
    return raw_ops.StringToHashBucket(string_tensor=input, num_buckets=num_buckets, name=name)


def format(template, inputs, placeholder="{}", summarize=3, name=None):  # pylint: disable=redefined-builtin
    """The template with each placeholder replaced by a printed tensor; large ones are shortened to `summarize`."""
    if is_tensor(inputs) or not isinstance(inputs, (list, tuple)):
        inputs = [inputs]
    inputs = [convert_to_tensor(value) for value in inputs]
    found = len(re.findall(re.escape(placeholder), template))
    if found != len(inputs):
        raise ValueError(f"The template expects {found} tensors, but the inputs only has {len(inputs)}. Please ensure "
                         "the number of placeholders in template matches inputs length.")
    return raw_ops.StringFormat(inputs=inputs, template=template, placeholder=placeholder, summarize=summarize,
                                name=name)


def unsorted_segment_join(inputs, segment_ids, num_segments, separator="", name=None):
    """The strings of each segment joined in order."""
    return raw_ops.UnsortedSegmentJoin(inputs=inputs, segment_ids=segment_ids, num_segments=num_segments,
                                       separator=separator, name=name)


# Functions with ragged results.


def _ragged():
    from weir.ops import ragged
    return ragged


def _over_leading(input, function):
    """Applies a function of a vector, which gives a ragged matrix, to strings of any rank."""
    ragged = _ragged()
    if isinstance(input, ragged.RaggedTensor):
        return input.with_flat_values(_over_leading(input.flat_values, function))
    input = convert_to_tensor(input, dtype=dtypes.string)
    rank = input.shape.rank
    if rank is None:
        raise ValueError("input must have a statically-known rank.")
    if rank == 0:
        result = function(array.reshape(input, [1]))
        return [r[0] for r in result] if isinstance(result, (list, tuple)) else result[0]
    if rank == 1:
        return function(input)
    inner = function(array.reshape(input, [-1]))
    wrap = lambda values: ragged.from_dense_prefix(values, array.shape(input), rank)  # noqa: E731
    return [wrap(r) for r in inner] if isinstance(inner, (list, tuple)) else wrap(inner)


def bytes_split(input, name=None):  # pylint: disable=redefined-builtin
    """Each string as a row of single bytes."""
    ragged = _ragged()

    def rows(vector):
        parts = raw_ops.StringSplit(input=vector, delimiter="", skip_empty=False, name=name)
        return ragged.RaggedTensor.from_value_rowids(parts.values if hasattr(parts, "values") else parts[1],
                                                     parts.indices[:, 0] if hasattr(parts, "indices") else
                                                     parts[0][:, 0], nrows=array.shape(vector, dtypes.int64)[0],
                                                     validate=False)

    return _over_leading(input, rows)


def split(input, sep=None, maxsplit=-1, name=None):  # pylint: disable=redefined-builtin
    """Each string as a row of its parts: between occurrences of `sep`, or of white space without one."""
    ragged = _ragged()

    def rows(vector):
        indices, values, shape = raw_ops.StringSplitV2(input=vector, sep="" if sep is None else sep,
                                                       maxsplit=maxsplit, name=name)
        return ragged.RaggedTensor.from_value_rowids(values, indices[:, 0], nrows=shape[0], validate=False)

    return _over_leading(input, rows)


def ngrams(data, ngram_width, separator=" ", pad_values=None, padding_width=None, preserve_short_sequences=False,
           name=None):
    """The n-grams of each row of strings, joined by `separator`; rows may be padded on both sides."""
    ragged = _ragged()
    if pad_values is None:
        if padding_width is not None:
            raise ValueError("pad_values must be provided if padding_width is set.")
        left, right, padding = "", "", 0
    else:
        left, right = (pad_values, pad_values) if isinstance(pad_values, (str, bytes)) else pad_values
        padding = -1 if padding_width is None else padding_width
        if padding_width is not None and padding_width < 1:
            raise ValueError("padding_width must be greater than 0.")
    widths = [ngram_width] if isinstance(ngram_width, int) else list(ngram_width)
    if any(w < 1 for w in widths):
        raise ValueError("All ngram_widths must be greater than 0. Got ngram_width=" + str(ngram_width))
    is_ragged = isinstance(data, ragged.RaggedTensor)
    dense_rank = None
    if not is_ragged:
        data = convert_to_tensor(data, dtype=dtypes.string)
        dense_rank = data.shape.rank
        if dense_rank == 1:
            data = array.expand_dims(data, 0)
        data = ragged.RaggedTensor.from_tensor(data, ragged_rank=data.shape.rank - 1)
    inner = data
    outer = []
    while inner.ragged_rank > 1:
        outer.append(inner.row_splits)
        inner = inner.values
    values, splits = raw_ops.StringNGrams(
        data=inner.values, data_splits=inner.row_splits, separator=separator, ngram_widths=widths, left_pad=left,
        right_pad=right, pad_width=padding, preserve_short_sequences=preserve_short_sequences, name=name)
    result = ragged.RaggedTensor.from_row_splits(values, splits, validate=False)
    for row_splits in reversed(outer):
        result = ragged.RaggedTensor.from_row_splits(result, row_splits, validate=False)
    if is_ragged:
        return result
    if dense_rank == 1:
        return result.flat_values
    return result.to_tensor()


def unicode_decode(input, input_encoding, errors="replace", replacement_char=65533, replace_control_characters=False,  # pylint: disable=redefined-builtin
                   name=None):
    """Each string as a row of code points."""
    return _unicode(input, input_encoding, errors, replacement_char, replace_control_characters, False, name)


def unicode_decode_with_offsets(input, input_encoding, errors="replace", replacement_char=65533,  # pylint: disable=redefined-builtin
                                replace_control_characters=False, name=None):
    """Each string as a row of code points, and the byte at which each begins."""
    return _unicode(input, input_encoding, errors, replacement_char, replace_control_characters, True, name)


def _unicode(input, encoding, errors, replacement_char, replace_control, offsets, name):
    ragged = _ragged()

    def rows(vector):
        if offsets:
            splits, points, starts = raw_ops.UnicodeDecodeWithOffsets(
                input=vector, input_encoding=encoding, errors=errors, replacement_char=replacement_char,
                replace_control_characters=replace_control, name=name)
            return [ragged.RaggedTensor.from_row_splits(points, splits, validate=False),
                    ragged.RaggedTensor.from_row_splits(starts, splits, validate=False)]
        splits, points = raw_ops.UnicodeDecode(
            input=vector, input_encoding=encoding, errors=errors, replacement_char=replacement_char,
            replace_control_characters=replace_control, name=name)
        return ragged.RaggedTensor.from_row_splits(points, splits, validate=False)

    result = _over_leading(input, rows)
    return tuple(result) if offsets else result


def unicode_encode(input, output_encoding, errors="replace", replacement_char=65533, name=None):  # pylint: disable=redefined-builtin
    """Rows of code points as strings."""
    ragged = _ragged()
    if not isinstance(input, ragged.RaggedTensor):
        input = convert_to_tensor(input)
        rank = input.shape.rank
        if rank == 0:
            raise ValueError("input_tensor's rank must be at least 1.")
        if rank == 1:
            splits = array.stack([array.constant(0), array.size(input)])
            result = raw_ops.UnicodeEncode(input_values=input, input_splits=splits, output_encoding=output_encoding,
                                           errors=errors, replacement_char=replacement_char, name=name)
            return array.reshape(result, [])
        if rank == 2:
            input = ragged.RaggedTensor.from_tensor(input)
        else:
            flat = unicode_encode(array.reshape(input, array.concat([[-1], array.shape(input)[-1:]], 0)),
                                  output_encoding, errors, replacement_char)
            return array.reshape(flat, array.shape(input)[:-1])
    if input.ragged_rank > 1 or (input.values.shape.rank or 1) > 1:
        if input.ragged_rank > 1:
            return input.with_values(unicode_encode(input.values, output_encoding, errors, replacement_char))
        return input.with_values(unicode_encode(input.values, output_encoding, errors, replacement_char))
    return raw_ops.UnicodeEncode(input_values=input.values, input_splits=input.row_splits,
                                 output_encoding=output_encoding, errors=errors, replacement_char=replacement_char,
                                 name=name)


def unicode_split(input, input_encoding, errors="replace", replacement_char=65533, name=None):  # pylint: disable=redefined-builtin
    """Each string as a row of its characters."""
    points = unicode_decode(input, input_encoding, errors, replacement_char)
    return _encode_each(points, input_encoding, errors, replacement_char, name)


def unicode_split_with_offsets(input, input_encoding, errors="replace", replacement_char=65533, name=None):  # pylint: disable=redefined-builtin
    """Each string as a row of its characters, and the byte at which each begins."""
    points, offsets = unicode_decode_with_offsets(input, input_encoding, errors, replacement_char)
    return _encode_each(points, input_encoding, errors, replacement_char, name), offsets


def _encode_each(points, encoding, errors, replacement_char, name):
    def encode(flat):
        count = array.size(flat, out_type=dtypes.int64)
        return raw_ops.UnicodeEncode(input_values=flat, input_splits=array.range(count + 1), output_encoding=encoding,
                                     errors=errors, replacement_char=replacement_char, name=name)

    if hasattr(points, "with_flat_values"):
        return points.with_flat_values(encode(points.flat_values))
    return encode(points)
