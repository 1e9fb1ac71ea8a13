"""Images: resizing, cropping, flips, colours, random changes, comparison, boxes."""

import numpy as np

from weir.framework import as_dtype, convert_to_tensor, get_static_value, is_tensor, raw_ops
from weir.ops import array, dtypes, math, random
from weir.ops.dtypes import cast
from weir.ops.random import random_crop, stateless_random_crop  # noqa: F401


class ResizeMethod:
    """How pixels are computed by `resize`."""
    BILINEAR = "bilinear"
    NEAREST_NEIGHBOR = "nearest"
    BICUBIC = "bicubic"
    AREA = "area"
    LANCZOS3 = "lanczos3"
    LANCZOS5 = "lanczos5"
    GAUSSIAN = "gaussian"
    MITCHELLCUBIC = "mitchellcubic"


def _batched(image):
    """(a batch of images, whether it was one image)."""
    image = convert_to_tensor(image, name="image")
    rank = image.shape.rank
    if rank == 3:
        return array.expand_dims(image, 0), True
    if rank not in (4, None):
        raise ValueError(f"'image' (shape {image.shape}) must have either 3 or 4 dimensions.")
    return image, False


def _unbatched(image, single):
    return array.squeeze(image, [0]) if single else image


def resize(images, size, method=ResizeMethod.BILINEAR, preserve_aspect_ratio=False, antialias=False, name=None):
    """Images in another size."""
    images = convert_to_tensor(images, name="images")
    if images.shape.rank is None:
        raise ValueError("'images' contains no shape.")
    if images.shape.rank not in (3, 4):
        raise ValueError("'images' must have either 3 or 4 dimensions.")
    images, single = _batched(images)
    size = convert_to_tensor(size, dtype=dtypes.int32, name="size") if not is_tensor(size) else cast(size, dtypes.int32)
    if size.shape.rank != 1 or size.shape[0] != 2:
        raise ValueError("'size' must be a 1-D Tensor of 2 elements: new_height, new_width")
    if preserve_aspect_ratio:
        sizes = cast(array.shape(images)[1:3], dtypes.float32)
        scale = math.reduce_min(cast(size, dtypes.float32) / sizes)
        size = cast(math.round(scale * sizes), dtypes.int32)
    static = get_static_value(size)
    if static is not None and tuple(static) == (images.shape[1], images.shape[2]) and method != "area":
        result = images
        if method != ResizeMethod.NEAREST_NEIGHBOR and images.dtype != dtypes.float32:
            result = cast(images, dtypes.float32)
        return _unbatched(result, single)
    scaled = {ResizeMethod.LANCZOS3: "lanczos3", ResizeMethod.LANCZOS5: "lanczos5", ResizeMethod.GAUSSIAN: "gaussian",
              ResizeMethod.MITCHELLCUBIC: "mitchellcubic"}
    if method in (ResizeMethod.BILINEAR, ResizeMethod.BICUBIC) and antialias:
        scaled[method] = "triangle" if method == ResizeMethod.BILINEAR else "keyscubic"
    if method in scaled:
        ratio = cast(size, dtypes.float32) / cast(array.shape(images)[1:3], dtypes.float32)
        result = raw_ops.ScaleAndTranslate(images=images, size=size, scale=ratio, translation=array.zeros([2]),
                                           kernel_type=scaled[method], antialias=antialias, name=name)
    elif method == ResizeMethod.BILINEAR:
        result = raw_ops.ResizeBilinear(images=images, size=size, half_pixel_centers=True, name=name)
    elif method == ResizeMethod.NEAREST_NEIGHBOR:
        result = raw_ops.ResizeNearestNeighbor(images=images, size=size, half_pixel_centers=True, name=name)
    elif method == ResizeMethod.BICUBIC:
        result = raw_ops.ResizeBicubic(images=images, size=size, half_pixel_centers=True, name=name)
    elif method == ResizeMethod.AREA:
        result = raw_ops.ResizeArea(images=images, size=size, name=name)
    else:
        raise ValueError("Resize method is not implemented: {}".format(method))
    return _unbatched(result, single)


def resize_with_crop_or_pad(image, target_height, target_width):
    """Images cropped in the middle or padded evenly to a size."""
    image, single = _batched(image)
    height, width = array.shape(image)[1], array.shape(image)[2]
    if image.shape[1] is not None and not is_tensor(target_height):
        height, target_height = int(image.shape[1]), int(target_height)
    if image.shape[2] is not None and not is_tensor(target_width):
        width, target_width = int(image.shape[2]), int(target_width)
    low = lambda a, b: min(a, b) if isinstance(a, int) and isinstance(b, int) else raw_ops.Minimum(x=a, y=b)  # noqa: E731
    high = lambda a, b: max(a, b) if isinstance(a, int) and isinstance(b, int) else raw_ops.Maximum(x=a, y=b)  # noqa: E731
    for target, what in ((target_height, "target_height"), (target_width, "target_width")):
        if isinstance(target, int) and target <= 0:
            raise ValueError(f"{what} must be > 0.")
    dh, dw = target_height - height, target_width - width
    cropped = crop_to_bounding_box(image, high(-dh // 2, 0), high(-dw // 2, 0), low(target_height, height),
                                   low(target_width, width))
    result = pad_to_bounding_box(cropped, high(dh // 2, 0), high(dw // 2, 0), target_height, target_width)
    return _unbatched(result, single)


def resize_with_pad(image, target_height, target_width, method=ResizeMethod.BILINEAR, antialias=False):
    """Images resized with their aspect ratio kept, then padded to a size."""
    image, single = _batched(image)
    sizes = cast(array.shape(image)[1:3], dtypes.float32)
    target = cast(array.stack([target_height, target_width]), dtypes.float32)
    ratio = math.reduce_max(sizes / target)
    fitted = cast(math.floor(sizes / ratio), dtypes.int32)
    offset = cast(math.floor((target - sizes / ratio) / 2), dtypes.int32)
    offset = raw_ops.Maximum(x=array.constant(0), y=offset)
    resized = resize(image, fitted, method, antialias=antialias)
    result = pad_to_bounding_box(resized, offset[0], offset[1], target_height, target_width)
    return _unbatched(result, single)


def _static(*values):
    return all(isinstance(v, (int, np.integer)) for v in values)


def crop_to_bounding_box(image, offset_height, offset_width, target_height, target_width):
    """A window of images."""
    image, single = _batched(image)
    if _static(offset_height, offset_width, target_height, target_width):
        if offset_width < 0 or offset_height < 0:
            raise ValueError("offset_width must be >= 0." if offset_width < 0 else "offset_height must be >= 0.")
        if target_width <= 0 or target_height <= 0:
            raise ValueError("target_width must be > 0." if target_width <= 0 else "target_height must be > 0.")
        if image.shape[1] is not None and (offset_height + target_height > image.shape[1] or
                                           offset_width + target_width > image.shape[2]):
            raise ValueError("width must be >= target + offset." if offset_width + target_width > image.shape[2] else
                             "height must be >= target + offset.")
    result = image[:, offset_height:offset_height + target_height, offset_width:offset_width + target_width, :]
    return _unbatched(result, single)


def pad_to_bounding_box(image, offset_height, offset_width, target_height, target_width):
    """Images with zeros around them, up to a size."""
    image, single = _batched(image)
    height = image.shape[1] if image.shape[1] is not None else array.shape(image)[1]
    width = image.shape[2] if image.shape[2] is not None else array.shape(image)[2]
    after_height, after_width = target_height - offset_height - height, target_width - offset_width - width
    if _static(offset_height, after_height, offset_width, after_width):
        if offset_height < 0 or offset_width < 0:
            raise ValueError("offset_height must be >= 0" if offset_height < 0 else "offset_width must be >= 0")
        if after_width < 0 or after_height < 0:
            raise ValueError("width must be <= target - offset" if after_width < 0 else
                             "height must be <= target - offset")
    zero = array.constant(0)
    paddings = array.reshape(array.stack([zero, zero, offset_height, after_height, offset_width, after_width, zero,
                                          zero]), [4, 2])
    return _unbatched(array.pad(image, paddings), single)


def central_crop(image, central_fraction):
    """The middle of images."""
    image = convert_to_tensor(image, name="image")
    fraction = get_static_value(central_fraction) if is_tensor(central_fraction) else central_fraction
    if fraction is not None:
        if fraction <= 0.0 or fraction > 1.0:
            raise ValueError("central_fraction must be within (0, 1]")
        if fraction == 1.0:
            return image
    image, single = _batched(image)
    boxes = []
    for axis in (1, 2):
        size = image.shape[axis]
        if size is not None and fraction is not None:
            start = int((size - size * float(fraction)) / 2)
            boxes += [start, size - start * 2]
        else:
            size = array.shape(image)[axis]
            start = cast((cast(size, dtypes.float64) - cast(size, dtypes.float64) * cast(
                central_fraction, dtypes.float64)) / 2, dtypes.int32)
            boxes += [start, size - start * 2]
    result = image[:, boxes[0]:boxes[0] + boxes[1], boxes[2]:boxes[2] + boxes[3], :]
    return _unbatched(result, single)


# Flips and turns.


def _reversed(image, axis):
    image, single = _batched(image)
    return _unbatched(array.reverse(image, [axis]), single)


def flip_left_right(image):
    """Images mirrored from left to right."""
    return _reversed(image, 2)


def flip_up_down(image):
    """Images mirrored from top to bottom."""
    return _reversed(image, 1)


def transpose(image, name=None):
    """Images with height and width exchanged."""
    image, single = _batched(image)
    return _unbatched(array.transpose(image, [0, 2, 1, 3], name=name or "transpose"), single)


def rot90(image, k=1, name=None):
    """Images turned counter-clockwise by 90 degrees `k` times."""
    del name
    image, single = _batched(image)
    turns = get_static_value(k) if is_tensor(k) else k
    turns = int(turns) % 4
    if turns == 1:
        image = array.transpose(array.reverse(image, [2]), [0, 2, 1, 3])
    elif turns == 2:
        image = array.reverse(image, [1, 2])
    elif turns == 3:
        image = array.reverse(array.transpose(image, [0, 2, 1, 3]), [2])
    return _unbatched(image, single)


def _random_flip(image, axis, uniform):
    image, single = _batched(image)
    if single:
        chosen = array.reshape(uniform([]) < 0.5, [])
        return _unbatched(array.where(chosen, array.reverse(image, [axis]), image), True)
    count = array.shape(image)[0]
    flips = array.reshape(math.round(uniform(array.reshape(count, [1]))), array.stack([count, 1, 1, 1]))
    flips = cast(flips, image.dtype)
    return flips * array.reverse(image, [axis]) + (1 - flips) * image


def random_flip_left_right(image, seed=None):
    """Images mirrored from left to right, or not."""
    return _random_flip(image, 2, lambda shape: random.uniform(shape, seed=seed))


def random_flip_up_down(image, seed=None):
    """Images mirrored from top to bottom, or not."""
    return _random_flip(image, 1, lambda shape: random.uniform(shape, seed=seed))


def stateless_random_flip_left_right(image, seed):
    """As `random_flip_left_right`, by `seed` only."""
    return _random_flip(image, 2, lambda shape: random.stateless_uniform(shape, seed))


def stateless_random_flip_up_down(image, seed):
    """As `random_flip_up_down`, by `seed` only."""
    return _random_flip(image, 1, lambda shape: random.stateless_uniform(shape, seed))


# Colours.


def convert_image_dtype(image, dtype, saturate=False, name=None):
    """Images in another type, values scaled between [0, 1] and the range of integers."""
    image = convert_to_tensor(image, name="image")
    dtype = as_dtype(dtype)
    if not dtype.is_floating and not dtype.is_integer:
        raise AttributeError("dtype must be either floating point or integer")
    source = image.dtype
    if source == dtype:
        return array.identity(image, name=name)
    if source.is_integer and dtype.is_integer:
        scale_in, scale_out = source.max, dtype.max
        if scale_in > scale_out:
            scale = (scale_in + 1) // (scale_out + 1)
            scaled = raw_ops.FloorDiv(x=image, y=array.constant(scale, source))
            return dtypes.saturate_cast(scaled, dtype, name=name) if saturate else cast(scaled, dtype, name=name)
        widened = dtypes.saturate_cast(image, dtype) if saturate else cast(image, dtype)
        return raw_ops.Mul(x=widened, y=array.constant((scale_out + 1) // (scale_in + 1), dtype), name=name)
    if source.is_floating and dtype.is_floating:
        return cast(image, dtype, name=name)
    if source.is_integer:
        widened = cast(image, dtype)
        return raw_ops.Mul(x=widened, y=array.constant(1.0 / source.max, dtype), name=name)
    scaled = raw_ops.Mul(x=image, y=array.constant(dtype.max + 0.5, source))
    return dtypes.saturate_cast(scaled, dtype, name=name) if saturate else cast(scaled, dtype, name=name)


def _as_float(image):
    image = convert_to_tensor(image, name="image")
    original = image.dtype
    if original in (dtypes.float16, dtypes.float32):
        return image, original
    return convert_image_dtype(image, dtypes.float32), original


def rgb_to_grayscale(images, name=None):
    """The luma of images."""
    image, original = _as_float(images)
    weights = array.constant([0.2989, 0.5870, 0.1140], dtype=image.dtype)
    gray = array.expand_dims(math.tensordot(image, weights, [[-1], [-1]]), -1)
    return convert_image_dtype(gray, original, name=name)


def grayscale_to_rgb(images, name=None):
    """Images with their one channel three times."""
    images = convert_to_tensor(images, name="images")
    rank = images.shape.rank
    return array.tile(images, [1] * (rank - 1) + [3], name=name)


_YIQ = np.array([[0.299, 0.59590059, 0.2115], [0.587, -0.27455667, -0.52273617], [0.114, -0.32134392, 0.31119955]])
_YIQ_BACK = np.array([[1, 1, 1], [0.95598634, -0.27201283, -1.10674021], [0.6208248, -0.64720424, 1.70423049]])
_YUV = np.array([[0.299, -0.14714119, 0.61497538], [0.587, -0.28886916, -0.51496512], [0.114, 0.43601035, -0.10001026]])
_YUV_BACK = np.array([[1, 1, 1], [0, -0.394642334, 2.03206185], [1.13988303, -0.58062185, 0]])


def _by_matrix(images, matrix):
    images = convert_to_tensor(images, name="images")
    return math.tensordot(images, array.constant(matrix, dtype=images.dtype), [[images.shape.rank - 1], [0]])


def rgb_to_yiq(images):
    """RGB as YIQ."""
    return _by_matrix(images, _YIQ)


def yiq_to_rgb(images):
    """YIQ as RGB."""
    return _by_matrix(images, _YIQ_BACK)


def rgb_to_yuv(images):
    """RGB as YUV."""
    return _by_matrix(images, _YUV)


def yuv_to_rgb(images):
    """YUV as RGB."""
    return _by_matrix(images, _YUV_BACK)


def adjust_brightness(image, delta):
    """`delta` added to images, in units of the full range."""
    image, original = _as_float(image)
    return convert_image_dtype(image + cast(delta, image.dtype), original, saturate=True)


def adjust_contrast(images, contrast_factor):
    """Distances from the mean of each channel multiplied."""
    images, original = _as_float(images)
    result = raw_ops.AdjustContrastv2(images=images, contrast_factor=convert_to_tensor(contrast_factor, dtypes.float32))
    return convert_image_dtype(result, original, saturate=True)


def adjust_hue(image, delta, name=None):
    """Hues turned by `delta`, of which 1 is a full turn."""
    known = get_static_value(delta) if is_tensor(delta) else delta
    if known is not None and not -1.0 <= float(known) <= 1.0:
        raise ValueError("delta must be in the interval [-1, 1]")
    image, original = _as_float(image)
    result = raw_ops.AdjustHue(images=image, delta=convert_to_tensor(delta, dtypes.float32))
    return convert_image_dtype(result, original, name=name)


def adjust_saturation(image, saturation_factor, name=None):
    """Saturations multiplied."""
    image, original = _as_float(image)
    result = raw_ops.AdjustSaturation(images=image, scale=convert_to_tensor(saturation_factor, dtypes.float32))
    return convert_image_dtype(result, original, name=name)


def adjust_gamma(image, gamma=1, gain=1):
    """`gain * image ** gamma`."""
    image, original = _as_float(image)
    known = get_static_value(gamma) if is_tensor(gamma) else gamma
    if known is not None and known < 0:
        raise ValueError("Gamma should be a non-negative real number.")
    return convert_image_dtype(gain * image**gamma, original, saturate=True)


def per_image_standardization(image):
    """Images with mean 0 and variance 1."""
    image = convert_to_tensor(image, name="image")
    if image.dtype not in (dtypes.float16, dtypes.float32):
        image = convert_image_dtype(image, dtypes.float32)
    count = cast(math.reduce_prod(array.shape(image)[-3:]), dtypes.float32)
    mean = math.reduce_mean(image, axis=[-1, -2, -3], keepdims=True)
    deviation = math.reduce_std(image, axis=[-1, -2, -3], keepdims=True)
    smallest = math.rsqrt(count)
    return (image - mean) / raw_ops.Maximum(x=deviation, y=cast(smallest, image.dtype))


def _check_range(lower, upper):
    if upper <= lower:
        raise ValueError("upper must be > lower.")
    if lower < 0:
        raise ValueError("lower must be non-negative.")


def random_brightness(image, max_delta, seed=None):
    """Brightness changed at random by at most `max_delta`."""
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_brightness(image, random.uniform([], -max_delta, max_delta, seed=seed))


def stateless_random_brightness(image, max_delta, seed):
    """As `random_brightness`, by `seed` only."""
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_brightness(image, random.stateless_uniform([], seed, -max_delta, max_delta))


def random_contrast(image, lower, upper, seed=None):
    """Contrast multiplied by a random factor."""
    _check_range(lower, upper)
    return adjust_contrast(image, random.uniform([], lower, upper, seed=seed))


def stateless_random_contrast(image, lower, upper, seed):
    """As `random_contrast`, by `seed` only."""
    _check_range(lower, upper)
    return adjust_contrast(image, random.stateless_uniform([], seed, lower, upper))


def random_hue(image, max_delta, seed=None):
    """Hue turned at random by at most `max_delta`."""
    if max_delta > 0.5 or max_delta < 0:
        raise ValueError("max_delta must be <= 0.5." if max_delta > 0.5 else "max_delta must be non-negative.")
    return adjust_hue(image, random.uniform([], -max_delta, max_delta, seed=seed))


def stateless_random_hue(image, max_delta, seed):
    """As `random_hue`, by `seed` only."""
    if max_delta > 0.5 or max_delta < 0:
        raise ValueError("max_delta must be <= 0.5." if max_delta > 0.5 else "max_delta must be non-negative.")
    return adjust_hue(image, random.stateless_uniform([], seed, -max_delta, max_delta))


def random_saturation(image, lower, upper, seed=None):
    """Saturation multiplied by a random factor."""
    _check_range(lower, upper)
    return adjust_saturation(image, random.uniform([], lower, upper, seed=seed))


def stateless_random_saturation(image, lower, upper, seed=None):
    """As `random_saturation`, by `seed` only."""
    _check_range(lower, upper)
    return adjust_saturation(image, random.stateless_uniform([], seed, lower, upper))


# Measures and filters.


def total_variation(images, name=None):
    """The sum of absolute differences of neighbouring pixels."""
    images = convert_to_tensor(images)
    rank = images.shape.rank
    if rank not in (3, 4):
        raise ValueError("'images' must be either 3 or 4-dimensional.")
    first = images[..., 1:, :, :] - images[..., :-1, :, :]
    second = images[..., :, 1:, :] - images[..., :, :-1, :]
    axes = None if rank == 3 else [1, 2, 3]
    return math.add(math.reduce_sum(math.abs(first), axis=axes), math.reduce_sum(math.abs(second), axis=axes), name=name)


def image_gradients(image):
    """Differences of neighbouring pixels: down and to the right."""
    image = convert_to_tensor(image)
    if image.shape.rank != 4:
        raise ValueError("image_gradients expects a 4D tensor [batch_size, h, w, d], not {}.".format(image.shape))
    dy = image[:, 1:, :, :] - image[:, :-1, :, :]
    dx = image[:, :, 1:, :] - image[:, :, :-1, :]
    return array.pad(dy, [[0, 0], [0, 1], [0, 0], [0, 0]]), array.pad(dx, [[0, 0], [0, 0], [0, 1], [0, 0]])


def sobel_edges(image):
    """Sobel's filters in both directions, along a new last dimension."""
    image = convert_to_tensor(image)
    kernels = np.array([[[-1, -2, -1], [0, 0, 0], [1, 2, 1]], [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]]], np.float32)
    kernels = kernels.transpose(1, 2, 0)[:, :, None, :]
    channels = image.shape[-1] if image.shape[-1] is not None else array.shape(image)[-1]
    filters = array.tile(array.constant(kernels), [1, 1, channels, 1])
    padded = array.pad(image, [[0, 0], [1, 1], [1, 1], [0, 0]], mode="REFLECT")
    from weir.ops import conv
    result = conv.depthwise_conv2d(padded, filters, [1, 1, 1, 1], "VALID")
    return array.reshape(result, array.concat([array.shape(image), [2]], 0))


def psnr(a, b, max_val, name=None):
    """The peak signal-to-noise ratio in decibels."""
    a, b = convert_to_tensor(a), convert_to_tensor(b)
    max_val = convert_image_dtype(cast(max_val, a.dtype), dtypes.float32)
    a, b = convert_image_dtype(a, dtypes.float32), convert_image_dtype(b, dtypes.float32)
    error = math.reduce_mean(raw_ops.SquaredDifference(x=a, y=b), [-3, -2, -1])
    ten = np.float32(10 / np.log(10))
    return math.subtract(20 * raw_ops.Log(x=max_val) / np.float32(np.log(10)), ten * raw_ops.Log(x=error), name=name)


def _ssim_window(size, sigma):
    place = np.arange(size, dtype=np.float32) - (size - 1) / 2.0
    weights = -0.5 * np.square(place) / np.square(sigma)
    weights = weights.reshape(1, -1) + weights.reshape(-1, 1)
    flat = np.exp(weights.reshape(-1) - weights.max())
    return (flat / flat.sum()).reshape(size, size, 1, 1).astype(np.float32)


def _ssim_maps(x, y, max_val, size, sigma, k1, k2):
    from weir.ops import conv
    c1, c2 = (k1 * max_val)**2, (k2 * max_val)**2
    kernel = array.tile(array.constant(_ssim_window(size, sigma)), array.stack([1, 1, array.shape(x)[-1], 1]))
    reduce = lambda v: conv.depthwise_conv2d(v, kernel, [1, 1, 1, 1], "VALID")  # noqa: E731
    mean_x, mean_y = reduce(x), reduce(y)
    product = mean_x * mean_y * 2.0
    squares = raw_ops.Square(x=mean_x) + raw_ops.Square(x=mean_y)
    luminance = (product + c1) / (squares + c1)
    cross = reduce(x * y) * 2.0
    power = reduce(raw_ops.Square(x=x) + raw_ops.Square(x=y))
    contrast = (cross - product + c2) / (power - squares + c2)
    return luminance, contrast


def ssim(img1, img2, max_val, filter_size=11, filter_sigma=1.5, k1=0.01, k2=0.03, return_index_map=False):
    """The structural similarity of images."""
    img1, img2 = convert_to_tensor(img1), convert_to_tensor(img2)
    max_val = convert_image_dtype(cast(max_val, img1.dtype), dtypes.float32)
    img1, img2 = convert_image_dtype(img1, dtypes.float32), convert_image_dtype(img2, dtypes.float32)
    luminance, contrast = _ssim_maps(img1, img2, max_val, filter_size, filter_sigma, k1, k2)
    values = luminance * contrast
    if return_index_map:
        return math.reduce_mean(values, [-1])
    return math.reduce_mean(math.reduce_mean(values, [-3, -2]), [-1])


_MS_WEIGHTS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)


def ssim_multiscale(img1, img2, max_val, power_factors=_MS_WEIGHTS, filter_size=11, filter_sigma=1.5, k1=0.01,
                    k2=0.03):
    """The structural similarity of images at several scales."""
    img1, img2 = convert_to_tensor(img1), convert_to_tensor(img2)
    max_val = convert_image_dtype(cast(max_val, img1.dtype), dtypes.float32)
    img1, img2 = convert_image_dtype(img1, dtypes.float32), convert_image_dtype(img2, dtypes.float32)
    from weir.ops import conv
    parts = []
    for level in range(len(power_factors)):
        if level:
            img1, img2 = (conv.avg_pool2d(_even(v), 2, 2, "VALID") for v in (img1, img2))
        luminance, contrast = _ssim_maps(img1, img2, max_val, filter_size, filter_sigma, k1, k2)
        both = math.reduce_mean(luminance * contrast, [-3, -2])
        parts.append(raw_ops.Relu(features=both if level == len(power_factors) - 1 else math.reduce_mean(contrast, [-3, -2])))
    stacked = array.stack(parts, axis=-1)
    return math.reduce_mean(math.reduce_prod(math.pow(stacked, array.constant(power_factors, dtypes.float32)), [-1]), [-1])


def _even(image):
    sizes = array.shape(image)
    odd = raw_ops.FloorMod(x=sizes[1:3], y=2)
    zero = array.constant(0)
    return array.pad(image, array.reshape(array.stack([zero, zero, zero, odd[0], zero, odd[1], zero, zero]), [4, 2]),
                     mode="SYMMETRIC")


def extract_patches(images, sizes, strides, rates, padding, name=None):
    """Windows of images, each as one long pixel."""
    return raw_ops.ExtractImagePatches(images=images, ksizes=list(sizes), strides=list(strides), rates=list(rates),
                                       padding=padding, name=name)


# Boxes.


def crop_and_resize(image, boxes, box_indices, crop_size, method="bilinear", extrapolation_value=0.0, name=None):
    """Boxes of images, resized to one size."""
    return raw_ops.CropAndResize(image=image, boxes=boxes, box_ind=box_indices, crop_size=crop_size, method=method,
                                 extrapolation_value=extrapolation_value, name=name)


def draw_bounding_boxes(images, boxes, colors, name=None):
    """Images with boxes drawn on them."""
    if colors is None:
        return raw_ops.DrawBoundingBoxes(images=images, boxes=boxes, name=name)
    return raw_ops.DrawBoundingBoxesV2(images=images, boxes=boxes, colors=colors, name=name)


def non_max_suppression(boxes, scores, max_output_size, iou_threshold=0.5, score_threshold=float("-inf"), name=None):
    """The indices of the best boxes that do not overlap much."""
    return raw_ops.NonMaxSuppressionV3(boxes=boxes, scores=scores, max_output_size=max_output_size,
                                       iou_threshold=iou_threshold, score_threshold=score_threshold, name=name)


def non_max_suppression_with_scores(boxes, scores, max_output_size, iou_threshold=0.5, score_threshold=float("-inf"),
                                    soft_nms_sigma=0.0, name=None):
    """As `non_max_suppression`, with scores, which `soft_nms_sigma` lowers instead of dropping boxes."""
    chosen, chosen_scores, _ = raw_ops.NonMaxSuppressionV5(
        boxes=boxes, scores=scores, max_output_size=max_output_size, iou_threshold=iou_threshold,
        score_threshold=score_threshold, soft_nms_sigma=soft_nms_sigma, pad_to_max_output_size=False, name=name)
    return chosen, chosen_scores


def non_max_suppression_overlaps(overlaps, scores, max_output_size, overlap_threshold=0.5,
                                 score_threshold=float("-inf"), name=None):
    """As `non_max_suppression`, with the overlaps given."""
    return raw_ops.NonMaxSuppressionWithOverlaps(overlaps=overlaps, scores=scores, max_output_size=max_output_size,
                                                 overlap_threshold=overlap_threshold, score_threshold=score_threshold,
                                                 name=name)


def combined_non_max_suppression(boxes, scores, max_output_size_per_class, max_total_size, iou_threshold=0.5,
                                 score_threshold=float("-inf"), pad_per_class=False, clip_boxes=True, name=None):
    """Non-maximum suppression by class over a batch."""
    return raw_ops.CombinedNonMaxSuppression(
        boxes=boxes, scores=scores, max_output_size_per_class=max_output_size_per_class, max_total_size=max_total_size,
        iou_threshold=iou_threshold, score_threshold=score_threshold, pad_per_class=pad_per_class,
        clip_boxes=clip_boxes, name=name)


def sample_distorted_bounding_box(image_size, bounding_boxes, seed=0, min_object_covered=0.1, aspect_ratio_range=None,
                                  area_range=None, max_attempts=None, use_image_if_no_bounding_boxes=None, name=None):
    """A random window of an image that contains enough of an object."""
    first, second = random.get_seed(seed) if seed else (0, 0)
    return raw_ops.SampleDistortedBoundingBoxV2(
        image_size=image_size, bounding_boxes=bounding_boxes, min_object_covered=min_object_covered, seed=first or 0,
        seed2=second or 0, aspect_ratio_range=list(aspect_ratio_range or (0.75, 1.33)),
        area_range=list(area_range or (0.05, 1.0)), max_attempts=max_attempts or 100,
        use_image_if_no_bounding_boxes=bool(use_image_if_no_bounding_boxes), name=name)


def stateless_sample_distorted_bounding_box(image_size, bounding_boxes, seed, min_object_covered=0.1,
                                            aspect_ratio_range=None, area_range=None, max_attempts=None,
                                            use_image_if_no_bounding_boxes=None, name=None):
    """As `sample_distorted_bounding_box`, by `seed` only."""
    return raw_ops.StatelessSampleDistortedBoundingBox(
        image_size=image_size, bounding_boxes=bounding_boxes, min_object_covered=min_object_covered, seed=seed,
        aspect_ratio_range=list(aspect_ratio_range or (0.75, 1.33)), area_range=list(area_range or (0.05, 1.0)),
        max_attempts=max_attempts or 100, use_image_if_no_bounding_boxes=bool(use_image_if_no_bounding_boxes), name=name)
