"""Signals: Fourier and cosine transforms, windows, frames, spectrograms."""

import numpy as np

from weir.framework import as_dtype, convert_to_tensor, get_static_value, raw_ops
from weir.ops import array, dtypes, math
from weir.ops.dtypes import cast


def _fit(value, lengths, rank):
    """`value` cut or padded with zeros along its last dimensions to `lengths`."""
    sizes = array.shape(value)
    total = value.shape.rank
    pads = raw_ops.Maximum(x=lengths - sizes[total - rank:], y=array.zeros([rank], dtypes.int32))
    zeros = array.zeros([total - rank, 2], dtypes.int32)
    inner = array.stack([array.zeros([rank], dtypes.int32), pads], axis=1)
    value = array.pad(value, array.concat([zeros, inner], 0))
    begin = array.zeros([total], dtypes.int32)
    size = array.concat([array.fill([total - rank], array.constant(-1)), lengths], 0)
    return array.slice(value, begin, size)


def _real_fft(rank):
    ops = {1: "RFFT", 2: "RFFT2D", 3: "RFFT3D"}

    def function(input_tensor, fft_length=None, name=None):
        input_tensor = convert_to_tensor(input_tensor, dtype_hint=dtypes.float32)
        if input_tensor.dtype not in (dtypes.float32, dtypes.float64):
            raise ValueError("RFFT requires tf.float32 or tf.float64 inputs, got: " + str(input_tensor))
        if fft_length is None:
            fft_length = array.shape(input_tensor)[input_tensor.shape.rank - rank:]
        else:
            fft_length = convert_to_tensor(fft_length, dtype=dtypes.int32)
        kind = dtypes.complex64 if input_tensor.dtype == dtypes.float32 else dtypes.complex128
        known = get_static_value(fft_length)
        needs = known is None or any(s is None or s < n for s, n in zip(input_tensor.shape.as_list()[-rank:], known))
        if needs:
            sizes = array.shape(input_tensor)
            pads = raw_ops.Maximum(x=fft_length - sizes[-rank:], y=array.zeros([rank], dtypes.int32))
            total = input_tensor.shape.rank
            paddings = array.concat([array.zeros([total - rank, 2], dtypes.int32),
                                     array.stack([array.zeros([rank], dtypes.int32), pads], axis=1)], 0)
            input_tensor = array.pad(input_tensor, paddings)
        return getattr(raw_ops, ops[rank])(input=input_tensor, fft_length=fft_length, Tcomplex=kind, name=name)

    function.__name__ = function.__qualname__ = ops[rank].lower()
    function.__doc__ = f"The Fourier transform of real numbers over the last {rank} dimensions: half of the spectrum."
    return function


def _inverse_real_fft(rank):
    ops = {1: "IRFFT", 2: "IRFFT2D", 3: "IRFFT3D"}

    def function(input_tensor, fft_length=None, name=None):
        input_tensor = convert_to_tensor(input_tensor, dtype_hint=dtypes.complex64)
        if not input_tensor.dtype.is_complex:
            raise ValueError("IRFFT requires complex inputs, got: " + str(input_tensor))
        total = input_tensor.shape.rank
        if fft_length is None:
            sizes = array.shape(input_tensor)[total - rank:]
            last = raw_ops.Maximum(x=2 * (sizes[-1:] - 1), y=array.zeros([1], dtypes.int32))
            fft_length = array.concat([sizes[:-1], last], 0)
        else:
            fft_length = convert_to_tensor(fft_length, dtype=dtypes.int32)
        real = dtypes.float32 if input_tensor.dtype == dtypes.complex64 else dtypes.float64
        needed = array.concat([fft_length[:-1], fft_length[-1:] // 2 + 1], 0)
        sizes = array.shape(input_tensor)[total - rank:]
        pads = raw_ops.Maximum(x=needed - sizes, y=array.zeros([rank], dtypes.int32))
        paddings = array.concat([array.zeros([total - rank, 2], dtypes.int32),
                                 array.stack([array.zeros([rank], dtypes.int32), pads], axis=1)], 0)
        input_tensor = array.pad(input_tensor, paddings)
        return getattr(raw_ops, ops[rank])(input=input_tensor, fft_length=fft_length, Treal=real, name=name)

    function.__name__ = function.__qualname__ = ops[rank].lower()
    function.__doc__ = f"The real inverse of a Fourier transform over the last {rank} dimensions."
    return function


rfft, rfft2d, rfft3d = _real_fft(1), _real_fft(2), _real_fft(3)
irfft, irfft2d, irfft3d = _inverse_real_fft(1), _inverse_real_fft(2), _inverse_real_fft(3)


def _shifted(x, axes, inverse):
    x = convert_to_tensor(x)
    rank = x.shape.rank
    if axes is None:
        axes = list(range(rank))
    axes = [axes] if isinstance(axes, int) else list(axes)
    sizes = array.gather(array.shape(x), [a if a >= 0 else a + rank for a in axes])
    shift = -(sizes // 2) if inverse else sizes // 2
    return array.roll(x, shift, axes)


def fftshift(x, axes=None, name=None):
    """Moves the zero frequency to the middle."""
    del name
    return _shifted(x, axes, False)


def ifftshift(x, axes=None, name=None):
    """Undoes `fftshift`."""
    del name
    return _shifted(x, axes, True)


# Windows.


def _window_length(window_length, dtype):
    if not as_dtype(dtype).is_floating:
        raise ValueError(f"dtype must be a floating point type. Found {dtype}")
    window_length = convert_to_tensor(window_length, dtype=dtypes.int32)
    window_length.shape.assert_has_rank(0)
    return window_length


def _raised_cosine(window_length, periodic, dtype, a, b):
    dtype = as_dtype(dtype)
    window_length = _window_length(window_length, dtype)
    periodic = cast(convert_to_tensor(periodic, dtype=dtypes.bool), dtypes.int32)
    even = 1 - raw_ops.FloorMod(x=window_length, y=2)
    n = cast(window_length + periodic * even - 1, dtype)
    count = cast(array.range(window_length), dtype)
    angle = array.constant(2 * np.pi, dtype) * count / n
    if get_static_value(window_length) == 1:
        return array.ones([1], dtype)
    return cast(a - b * raw_ops.Cos(x=angle), dtype)


def hann_window(window_length, periodic=True, dtype=dtypes.float32, name=None):
    """A Hann window."""
    del name
    return _raised_cosine(window_length, periodic, dtype, 0.5, 0.5)


def hamming_window(window_length, periodic=True, dtype=dtypes.float32, name=None):
    """A Hamming window."""
    del name
    return _raised_cosine(window_length, periodic, dtype, 0.54, 0.46)


def kaiser_window(window_length, beta=12.0, dtype=dtypes.float32, name=None):
    """A Kaiser window."""
    del name
    dtype = as_dtype(dtype)
    window_length = _window_length(window_length, dtype)
    if get_static_value(window_length) == 1:
        return array.ones([1], dtype)
    half = cast(window_length - 1, dtype) / 2
    arg = cast(array.range(-half, half + 0.1), dtype)
    beta = cast(beta, dtype)
    one = cast(1.0, dtype)
    inner = raw_ops.Maximum(x=one - raw_ops.Square(x=arg / half), y=cast(0.0, dtype))
    x = beta * math.sqrt(inner)
    return math.exp(x - beta) * math.bessel_i0e(x) / math.bessel_i0e(beta)


def kaiser_bessel_derived_window(window_length, beta=12.0, dtype=dtypes.float32, name=None):
    """A Kaiser-Bessel derived window."""
    del name
    dtype = as_dtype(dtype)
    window_length = _window_length(window_length, dtype)
    half = window_length // 2
    window = kaiser_window(half + 1, beta, dtype)
    sums = math.cumsum(window)
    side = math.sqrt(sums[:-1] / sums[-1])
    return array.concat([side, array.reverse(side, [0])], 0)


def vorbis_window(window_length, dtype=dtypes.float32, name=None):
    """The window of Vorbis."""
    del name
    dtype = as_dtype(dtype)
    window_length = _window_length(window_length, dtype)
    arg = cast(array.range(window_length), dtype)
    inner = raw_ops.Sin(x=cast(np.pi, dtype) / cast(window_length, dtype) * (arg + 0.5))
    return raw_ops.Sin(x=cast(np.pi / 2.0, dtype) * math.pow(inner, 2.0))


# Frames and spectrograms.


def frame(signal, frame_length, frame_step, pad_end=False, pad_value=0, axis=-1, name=None):
    """Overlapping frames of a signal along `axis`."""
    signal = convert_to_tensor(signal)
    frame_length = convert_to_tensor(frame_length, dtype=dtypes.int32)
    frame_step = convert_to_tensor(frame_step, dtype=dtypes.int32)
    rank = signal.shape.rank
    axis = int(axis) + rank if int(axis) < 0 else int(axis)
    count = array.shape(signal)[axis]
    if pad_end:
        frames = -(-count // frame_step)
        pad = raw_ops.Maximum(x=frame_length + frame_step * (frames - 1) - count, y=array.constant(0))
        paddings = array.stack([array.stack([array.constant(0), pad]) if i == axis else array.constant([0, 0])
                                for i in range(rank)])
        signal = array.pad(signal, paddings, constant_values=pad_value)
    else:
        frames = raw_ops.Maximum(x=array.constant(0), y=1 + raw_ops.FloorDiv(x=count - frame_length, y=frame_step))
    starts = array.reshape(array.range(frames) * frame_step, [-1, 1])
    places = starts + array.reshape(array.range(frame_length), [1, -1])
    return array.gather(signal, places, axis=axis, name=name)


def overlap_and_add(signal, frame_step, name=None):
    """Frames added up where they overlap: the inverse of `frame` up to the window."""
    del name
    signal = convert_to_tensor(signal)
    frame_step = convert_to_tensor(frame_step, dtype=dtypes.int32)
    sizes = array.shape(signal)
    rank = signal.shape.rank
    frames, length = sizes[rank - 2], sizes[rank - 1]
    total = (frames - 1) * frame_step + length
    places = array.reshape(array.reshape(array.range(frames) * frame_step, [-1, 1]) + array.range(length), [-1])
    flat = array.reshape(signal, array.stack([-1, frames * length]))
    summed = raw_ops.UnsortedSegmentSum(data=array.transpose(flat), segment_ids=places, num_segments=total)
    return array.reshape(array.transpose(summed), array.concat([sizes[:rank - 2], [total]], 0))


def _enclosing_power_of_two(value):
    known = get_static_value(value)
    if known is not None:
        return array.constant(int(2**np.ceil(np.log(int(known)) / np.log(2.0))))
    return cast(math.pow(2.0, math.ceil(raw_ops.Log(x=cast(value, dtypes.float32)) / np.log(2.0))), value.dtype)


def stft(signals, frame_length, frame_step, fft_length=None, window_fn=hann_window, pad_end=False, name=None):
    """The short-time Fourier transform."""
    signals = convert_to_tensor(signals)
    frame_length = convert_to_tensor(frame_length, dtype=dtypes.int32)
    fft_length = _enclosing_power_of_two(frame_length) if fft_length is None else convert_to_tensor(
        fft_length, dtype=dtypes.int32)
    framed = frame(signals, frame_length, frame_step, pad_end=pad_end)
    if window_fn is not None:
        framed = framed * window_fn(frame_length, dtype=framed.dtype)
    known, wanted = get_static_value(fft_length), framed.shape[-1]
    if known is not None and wanted is not None and wanted > known:
        framed = framed[..., :int(known)]
    return rfft(framed, array.reshape(fft_length, [1]), name=name)


def inverse_stft_window_fn(frame_step, forward_window_fn=hann_window, name=None):
    """The window that makes `inverse_stft` exact."""
    del name

    def window(frame_length, dtype):
        step = convert_to_tensor(frame_step, dtype=dtypes.int32)
        length = convert_to_tensor(frame_length, dtype=dtypes.int32)
        forward = forward_window_fn(length, dtype=dtype)
        energy = raw_ops.Square(x=forward)
        overlaps = -(-length // step)
        energy = array.pad(energy, [[0, overlaps * step - length]])
        energy = math.reduce_sum(array.reshape(energy, array.stack([overlaps, step])), 0, keepdims=True)
        energy = array.reshape(array.tile(energy, array.stack([overlaps, 1])), [-1])
        return forward / energy[:length]

    return window


def inverse_stft(stfts, frame_length, frame_step, fft_length=None, window_fn=hann_window, name=None):
    """The signal of a short-time Fourier transform."""
    del name
    stfts = convert_to_tensor(stfts)
    frame_length = convert_to_tensor(frame_length, dtype=dtypes.int32)
    frame_step = convert_to_tensor(frame_step, dtype=dtypes.int32)
    fft_length = _enclosing_power_of_two(frame_length) if fft_length is None else convert_to_tensor(
        fft_length, dtype=dtypes.int32)
    frames = irfft(stfts, array.reshape(fft_length, [1]))
    known, wanted = get_static_value(fft_length), get_static_value(frame_length)
    if known is not None and wanted is not None and known < wanted:
        pads = [[0, 0]] * (frames.shape.rank - 1) + [[0, int(wanted) - int(known)]]
        frames = array.pad(frames, pads)
    else:
        frames = frames[..., :frame_length]
    if window_fn is not None:
        frames = frames * window_fn(frame_length, dtype=frames.dtype)
    return overlap_and_add(frames, frame_step)


# Cosine transforms.


def dct(input, type=2, n=None, axis=-1, norm=None, name=None):  # pylint: disable=redefined-builtin
    """The discrete cosine transform of type 1 to 4 along the last dimension."""
    del name
    _check_dct(type, n, axis, norm)
    value = convert_to_tensor(input, dtype_hint=dtypes.float32)
    if n is not None:
        have = value.shape[-1]
        if have is not None and n <= have:
            value = value[..., :n]
        else:
            value = array.pad(value, [[0, 0]] * (value.shape.rank - 1) + [[0, n - have]])
    size = value.shape[-1] if value.shape[-1] is not None else array.shape(value)[-1]
    kind = value.dtype
    complex_kind = dtypes.complex64 if kind == dtypes.float32 else dtypes.complex128
    half = cast(size, kind) * 0.5
    if type == 1:
        mirrored = array.concat([value, array.reverse(value, [value.shape.rank - 1])[..., 1:-1]], -1)
        return math.real(rfft(mirrored))
    if type == 2:
        scale = 2.0 * math.exp(dtypes.complex(array.zeros([], kind), -array.range(cast(size, kind)) * np.pi * 0.5 /
                                              cast(size, kind)))
        spectrum = rfft(value, array.reshape(convert_to_tensor(2 * size, dtype=dtypes.int32), [1]))[..., :size]
        result = math.real(spectrum * scale)
        if norm == "ortho":
            first = 0.5 * math.rsqrt(cast(size, kind))
            rest = first * array.constant(np.sqrt(2.0), kind)
            weights = array.concat([array.expand_dims(first, 0), array.fill(array.expand_dims(size - 1, 0), rest)], 0)
            result = result * weights
        return result
    if type == 3:
        if norm == "ortho":
            first = math.sqrt(cast(size, kind))
            rest = first * array.constant(np.sqrt(0.5), kind)
            weights = array.concat([array.expand_dims(first, 0), array.fill(array.expand_dims(size - 1, 0), rest)], 0)
            value = value * weights
        else:
            value = value * cast(size, kind)
        scale = 2.0 * math.exp(dtypes.complex(array.zeros([], kind), array.range(cast(size, kind)) * np.pi * 0.5 /
                                              cast(size, kind)))
        spectrum = scale * dtypes.complex(value, array.zeros_like(value))
        return irfft(spectrum, array.reshape(convert_to_tensor(2 * size, dtype=dtypes.int32), [1]))[..., :size]
    type2 = dct(array.pad(value, [[0, 0]] * (value.shape.rank - 1) + [[0, size]]), type=2)
    result = type2[..., 1::2]
    del half, complex_kind
    if norm == "ortho":
        result = result * (array.constant(np.sqrt(0.5), kind) * math.rsqrt(cast(size, kind)))
    return result


def _check_dct(kind, n, axis, norm):
    if axis != -1:
        raise NotImplementedError("axis must be -1. Got: %s" % axis)
    if n is not None and n < 1:
        raise ValueError("n should be a positive integer or None")
    if kind not in (1, 2, 3, 4):
        raise ValueError("Types I, II, III and IV (I)DCT are supported.")
    if kind == 1 and norm == "ortho":
        raise ValueError("Normalization is not supported for the Type-I DCT.")
    if norm not in (None, "ortho"):
        raise ValueError("Unknown normalization. Expected None or 'ortho', got: %s" % norm)


def idct(input, type=2, n=None, axis=-1, norm=None, name=None):  # pylint: disable=redefined-builtin
    """The inverse of `dct` up to a factor, exact with `norm="ortho"`."""
    return dct(input, type={1: 1, 2: 3, 3: 2, 4: 4}.get(type, type), n=n, axis=axis, norm=norm, name=name)


def mdct(signals, frame_length, window_fn=vorbis_window, pad_end=False, norm=None, name=None):
    """The modified discrete cosine transform."""
    del name
    length = int(get_static_value(convert_to_tensor(frame_length)))
    if length % 4:
        raise ValueError("The frame length must be a multiple of 4.")
    framed = frame(signals, length, length // 2, pad_end=pad_end)
    if window_fn is not None:
        framed = framed * window_fn(length, dtype=framed.dtype)
    else:
        framed = framed * array.constant(1.0 / np.sqrt(2), framed.dtype)
    quarter = length // 4
    a, b, c, d = (framed[..., i * quarter:(i + 1) * quarter] for i in range(4))
    last = framed.shape.rank - 1
    folded = array.concat([-array.reverse(c, [last]) - d, a - array.reverse(b, [last])], -1)
    return dct(folded, type=4, norm=norm)


def inverse_mdct(mdcts, window_fn=vorbis_window, norm=None, name=None):
    """The signal of a modified discrete cosine transform."""
    del name
    mdcts = convert_to_tensor(mdcts)
    half = mdcts.shape[-1]
    result = idct(mdcts, type=4, norm=norm)
    last = result.shape.rank - 1
    left, right = result[..., :half // 2], result[..., half // 2:]
    frames = array.concat([right, -array.reverse(right, [last]), -array.reverse(left, [last]), -left], -1)
    if window_fn is not None:
        frames = frames * window_fn(2 * half, dtype=frames.dtype)
    else:
        frames = frames * array.constant(1.0 / np.sqrt(2), frames.dtype)
    if norm is None:
        frames = frames * (1.0 / (4.0 * (half // 2) * 1.0)) * 0.5 * 2
    return overlap_and_add(frames, half)


# Mel scale.


def _mel(hertz):
    return 1127.0 * np.log1p(hertz / 700.0)


def linear_to_mel_weight_matrix(num_mel_bins=20, num_spectrogram_bins=129, sample_rate=8000, lower_edge_hertz=125.0,
                                upper_edge_hertz=3800.0, dtype=dtypes.float32, name=None):
    """The matrix that turns linear spectrograms into ones on the mel scale."""
    if num_mel_bins <= 0:
        raise ValueError(f"num_mel_bins must be positive. Got: {num_mel_bins}")
    if lower_edge_hertz < 0.0:
        raise ValueError(f"lower_edge_hertz must be non-negative. Got: {lower_edge_hertz}")
    if lower_edge_hertz >= upper_edge_hertz:
        raise ValueError(f"lower_edge_hertz {lower_edge_hertz:.1f} >= upper_edge_hertz {upper_edge_hertz:.1f}")
    nyquist = float(sample_rate) / 2.0
    if upper_edge_hertz > nyquist:
        raise ValueError(f"upper_edge_hertz must not be larger than the Nyquist frequency (sample_rate / 2). Got "
                         f"{upper_edge_hertz} for sample_rate: {sample_rate}")
    linear = np.linspace(0.0, nyquist, num_spectrogram_bins)[1:]
    bins = _mel(linear)[:, None]
    edges = np.linspace(_mel(lower_edge_hertz), _mel(upper_edge_hertz), num_mel_bins + 2)
    lower, center, upper = edges[:-2][None], edges[1:-1][None], edges[2:][None]
    weights = np.maximum(0.0, np.minimum((bins - lower) / (center - lower), (upper - bins) / (upper - center)))
    weights = np.pad(weights, [[1, 0], [0, 0]])
    kind = as_dtype(dtype)
    return array.constant(weights.astype(kind.as_numpy_dtype), dtype=kind, name=name or "linear_to_mel_weight_matrix")


def mfccs_from_log_mel_spectrograms(log_mel_spectrograms, name=None):
    """Mel-frequency cepstral coefficients."""
    del name
    value = convert_to_tensor(log_mel_spectrograms)
    size = value.shape[-1]
    if size == 0:
        raise ValueError("num_mel_bins must be positive. Got: %s" % value)
    count = size if size is not None else array.shape(value)[-1]
    return dct(value, type=2) * math.rsqrt(cast(count, value.dtype) * 2.0)


