"""Functions of tf.image on JPEG quality, glimpses and proposals of boxes."""

from weir.framework import convert_to_tensor, dtypes
from weir.framework.conversion import get_static_value
from weir.framework.raw_ops import raw_ops
from weir.ops import array, math, random

__all__ = ["adjust_jpeg_quality", "random_jpeg_quality", "stateless_random_jpeg_quality", "extract_glimpse",
           "extract_glimpse_v1", "non_max_suppression_padded", "non_max_suppression_padded_v1",
           "generate_bounding_box_proposals"]


def adjust_jpeg_quality(image, jpeg_quality, name=None):  # pylint: disable=redefined-outer-name
    """An RGB image as it is after JPEG encoding with a quality from 0 to 100."""
    from weir.ops.image import convert_image_dtype
    with_dtype = convert_to_tensor(image, name="image")
    original = with_dtype.dtype
    pixels = convert_image_dtype(with_dtype, dtypes.uint8, saturate=True)
    quality = jpeg_quality if hasattr(jpeg_quality, "dtype") else convert_to_tensor(jpeg_quality, dtype=dtypes.int32)
    known = get_static_value(quality)
    if known is not None and not 0 <= int(known) <= 100:
        raise ValueError("jpeg_quality must be between 0 and 100.")
    encoded = raw_ops.EncodeJpegVariableQuality(images=pixels, quality=quality)
    decoded = raw_ops.DecodeJpeg(contents=encoded, channels=3)
    if with_dtype.shape.rank is not None:
        decoded.set_shape(with_dtype.shape)
    return convert_image_dtype(decoded, original, saturate=True)


def _check_quality(low, high):
    if low < 0 or high < 0 or low > 100 or high > 100:
        raise ValueError("jpeg encoding range must be between 0 and 100.")
    if low >= high:
        raise ValueError("`min_jpeg_quality` must be less than `max_jpeg_quality`.")


def random_jpeg_quality(image, min_jpeg_quality, max_jpeg_quality, seed=None):  # pylint: disable=redefined-outer-name
    """`adjust_jpeg_quality` with a random quality."""
    _check_quality(min_jpeg_quality, max_jpeg_quality)
    quality = random.uniform([], min_jpeg_quality, max_jpeg_quality, seed=seed, dtype=dtypes.int32)
    return adjust_jpeg_quality(image, quality)


def stateless_random_jpeg_quality(image, min_jpeg_quality, max_jpeg_quality, seed):  # pylint: disable=redefined-outer-name
    """`adjust_jpeg_quality` with a random quality that `seed` alone decides."""
    _check_quality(min_jpeg_quality, max_jpeg_quality)
    quality = random.stateless_uniform([], minval=min_jpeg_quality, maxval=max_jpeg_quality, seed=seed,
                                       dtype=dtypes.int32)
    return adjust_jpeg_quality(image, quality)


def extract_glimpse(input, size, offsets, centered=True, normalized=True, noise="uniform", name=None):  # pylint: disable=redefined-builtin
    """Windows of images around `offsets`; what lies outside an image is filled with noise."""
    return raw_ops.ExtractGlimpseV2(input=input, size=size, offsets=offsets, centered=centered, normalized=normalized,
                                    uniform_noise=False, noise=noise, name=name)


def extract_glimpse_v1(input, size, offsets, centered=True, normalized=True, uniform_noise=True, name=None):  # pylint: disable=redefined-builtin
    """compat.v1: as `extract_glimpse`."""
    return raw_ops.ExtractGlimpse(input=input, size=size, offsets=offsets, centered=centered, normalized=normalized,
                                  uniform_noise=uniform_noise, noise="uniform", name=name)


def non_max_suppression_padded(boxes, scores, max_output_size, iou_threshold=0.5, score_threshold=float("-inf"),
                               pad_to_max_output_size=False, name=None, sorted_input=False, canonicalized_coordinates=False,
                               tile_size=512):
    """The boxes that are left when those that overlap a better one are dropped: (indices, how many are valid)."""
    del sorted_input, canonicalized_coordinates, tile_size  # hints for accelerators
    boxes, scores = convert_to_tensor(boxes), convert_to_tensor(scores)
    if boxes.shape.rank == 2:
        return tuple(raw_ops.NonMaxSuppressionV4(boxes=boxes, scores=scores, max_output_size=max_output_size,
                                                 iou_threshold=iou_threshold, score_threshold=score_threshold,
                                                 pad_to_max_output_size=pad_to_max_output_size, name=name))
    # A batch: always padded, so that the rows have one length.
    leading = array.shape(boxes)[:-2]
    flat_boxes = array.reshape(boxes, array.concat([[-1], array.shape(boxes)[-2:]], 0))
    flat_scores = array.reshape(scores, array.concat([[-1], array.shape(scores)[-1:]], 0))
    rows = [raw_ops.NonMaxSuppressionV4(boxes=b, scores=s, max_output_size=max_output_size, iou_threshold=iou_threshold,
                                        score_threshold=score_threshold, pad_to_max_output_size=True)
            for b, s in zip(array.unstack(flat_boxes), array.unstack(flat_scores))]
    indices, counts = array.stack([r[0] for r in rows]), array.stack([r[1] for r in rows])
    if not pad_to_max_output_size:
        indices = indices[:, :math.reduce_max(counts)]
    return (array.reshape(indices, array.concat([leading, [-1]], 0)), array.reshape(counts, leading))


def non_max_suppression_padded_v1(boxes, scores, max_output_size, iou_threshold=0.5, score_threshold=float("-inf"),
                                  pad_to_max_output_size=False, name=None):
    """compat.v1: for one image."""
    return non_max_suppression_padded(boxes, scores, max_output_size, iou_threshold, score_threshold,
                                      pad_to_max_output_size, name)


def generate_bounding_box_proposals(scores, bbox_deltas, image_info, anchors, nms_threshold=0.7, pre_nms_topn=6000,
                                    min_size=16, post_nms_topn=300, name=None):
    """Regions of interest of a region proposal network, and their probabilities."""
    return raw_ops.GenerateBoundingBoxProposals(scores=scores, bbox_deltas=bbox_deltas, image_info=image_info,
                                                anchors=anchors, nms_threshold=nms_threshold, pre_nms_topn=pre_nms_topn,
                                                min_size=min_size, post_nms_topn=post_nms_topn, name=name)

