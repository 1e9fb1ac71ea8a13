"""Images: resized, cropped, decoded, boxes."""

import numpy as np
import tensorflow as tf

from .draw import TOLERANCES, cases


@cases("ResizeArea", "ResizeBicubic", "ResizeBilinear", "ResizeNearestNeighbor")
def resize(d):
    a, h = d.choice([(False, False), (True, False), (False, True)])
    given = dict(images=d.T((d.int(1, 2), d.int(1, 6), d.int(1, 6), d.int(1, 3)), 0, 100), size=d.i32([d.int(1, 9), d.int(1, 9)]), align_corners=a)
    return given if d.op == "ResizeArea" else dict(given, half_pixel_centers=h)


@cases("ResizeBicubicGrad", "ResizeBilinearGrad", "ResizeNearestNeighborGrad")
def resize_grad(d):
    a, h = d.choice([(False, False), (True, False), (False, True)])
    batch, depth = d.int(1, 2), d.int(1, 3)
    grads, image = (batch, d.int(1, 6), d.int(1, 6), depth), (batch, d.int(1, 6), d.int(1, 6), depth)
    if d.op == "ResizeNearestNeighborGrad":
        return dict(grads=d.T(grads), size=d.i32(image[1:3]), align_corners=a, half_pixel_centers=h)
    return dict(grads=d.of("float32", grads), original_image=d.T(image), align_corners=a, half_pixel_centers=h)


@cases("ScaleAndTranslate", "ScaleAndTranslateGrad")
def scale_and_translate(d):
    batch, depth, h, w = d.int(1, 2), d.int(1, 3), d.int(2, 6), d.int(2, 6)
    more = dict(scale=d.of("float32", (2,), 0.4, 2), translation=d.of("float32", (2,), -2, 2), kernel_type=d.choice(["lanczos1", "lanczos3", "lanczos5", "gaussian", "box", "triangle", "keyscubic", "mitchellcubic"]))
    if d.op == "ScaleAndTranslate":
        return dict(images=d.T((batch, h, w, depth), 0, 100), size=d.i32([d.int(1, 8), d.int(1, 8)]), **more)
    return dict(grads=d.of("float32", (batch, d.int(1, 6), d.int(1, 6), depth)), original_image=d.of("float32", (batch, h, w, depth)), **more)


def boxes(d, n, dtype="float32", low=-0.2, high=1.2):
    corners = np.sort(d.of(dtype, (n, 2, 2), low, high).astype("float64"), axis=1).reshape(n, 4)
    if d.chance(0.1) and n:
        corners[0] = corners[0][::-1]
    return corners.astype(tf.as_dtype(dtype).as_numpy_dtype)


@cases("CropAndResize")
def crop_and_resize(d):
    batch, n = d.int(1, 3), d.int(0, 4)
    return dict(image=d.T((batch, d.int(1, 6), d.int(1, 6), d.int(1, 3)), 0, 100), boxes=boxes(d, n), box_ind=d.of("int32", (n,), 0, batch - 1), crop_size=d.i32([d.int(1, 5), d.int(1, 5)]), extrapolation_value=d.choice([0.0, -3.0]))


@cases("CropAndResizeGradBoxes", "CropAndResizeGradImage")
def crop_and_resize_grad(d):
    batch, n, depth = d.int(1, 3), d.int(0, 4), d.int(1, 3)
    image = (batch, d.int(1, 6), d.int(1, 6), depth)
    given = dict(grads=d.of("float32", (n, d.int(1, 5), d.int(1, 5), depth)), boxes=boxes(d, n), box_ind=d.of("int32", (n,), 0, batch - 1))
    return dict(given, image=d.T(image, 0, 100)) if d.op.endswith("Boxes") else dict(given, image_size=d.i32(image))


@cases("AdjustContrastv2", "AdjustHue", "AdjustSaturation")
def adjust(d):
    shape = (*d.shape(0, 2), d.int(1, 4), d.int(1, 4), 3)
    factor = dict(AdjustContrastv2="contrast_factor", AdjustHue="delta", AdjustSaturation="scale")[d.op]
    return {"images": d.T(shape, 0, 1), factor: d.of("float32", (), -1 if d.op == "AdjustHue" else 0, 2)}


@cases("AdjustContrast")
def adjust_contrast(d):
    return dict(images=d.T((*d.shape(0, 2), d.int(1, 4), d.int(1, 4), 3), 0, 100), contrast_factor=d.of("float32", (), 0, 2), min_value=d.of("float32", (), -5, 5), max_value=d.of("float32", (), 50, 99))


@cases("DrawBoundingBoxes", "DrawBoundingBoxesV2")
def draw_boxes(d):
    batch, n, depth = d.int(1, 2), d.int(0, 3), d.choice([1, 3, 4])
    given = dict(images=d.T((batch, d.int(3, 8), d.int(3, 8), depth), 0, 1), boxes=np.stack([boxes(d, n) for _ in range(batch)]))
    return dict(given, colors=d.of("float32", (d.int(1, 3), depth), 0, 1)) if d.op.endswith("V2") else given


@cases("NonMaxSuppression", "NonMaxSuppressionV2", "NonMaxSuppressionV3", "NonMaxSuppressionV4", "NonMaxSuppressionV5")
def suppression(d):
    n, t = d.int(0, 7), d.types.get("T", tf.float32).name
    threshold = lambda low, high, kind: d.of(d.types.get(kind, tf.float32), (), low, high)
    given = dict(boxes=boxes(d, n, t), scores=d.of(t, (n,), 0, 1), max_output_size=d.i32(d.int(0, 6)))
    if d.op == "NonMaxSuppression":
        return dict(given, iou_threshold=d.float())
    kind = "T" if d.op.endswith("V5") else "T_threshold"
    given["iou_threshold"] = threshold(0, 1, kind)
    if d.op[-1] in "345":
        given["score_threshold"] = threshold(0, 0.6, kind)
    if d.op.endswith("V5"):
        given["soft_nms_sigma"] = threshold(0, 1, kind) if d.chance() else np.zeros((), d.t("T").as_numpy_dtype)
    return given


@cases("NonMaxSuppressionWithOverlaps")
def suppression_with_overlaps(d):
    n = d.int(0, 6)
    return dict(overlaps=d.of("float32", (n, n), 0, 1), scores=d.of("float32", (n,), 0, 1), max_output_size=d.i32(d.int(0, 6)), overlap_threshold=d.of("float32", (), 0, 1), score_threshold=d.of("float32", (), 0, 0.6))


@cases("CombinedNonMaxSuppression")
def combined(d):
    batch, n, q, c = d.int(1, 2), d.int(1, 6), d.choice([1, 2]), 2
    b = np.stack([np.stack([boxes(d, n) for _ in range(q)], 1) for _ in range(batch)])
    return dict(boxes=b, scores=d.of("float32", (batch, n, c), 0, 1), max_output_size_per_class=d.i32(d.int(1, 4)), max_total_size=d.i32(d.int(1, 6)), iou_threshold=d.of("float32", (), 0, 1), score_threshold=d.of("float32", (), 0, 0.6))


@cases("GenerateBoundingBoxProposals")
def proposals(d):
    a, h, w = d.int(1, 2), d.int(1, 3), d.int(1, 3)
    anchors = np.sort(d.of("float32", (h, w, a, 2, 2), 0, 50), axis=3).reshape(h, w, a, 4)
    return dict(scores=d.of("float32", (1, h, w, a), 0, 1), bbox_deltas=d.of("float32", (1, h, w, 4 * a), -1, 1), image_info=np.asarray([[60, 60, 1, 0, 0]], "float32"), anchors=anchors, nms_threshold=d.of("float32", (), 0.3, 1), pre_nms_topn=d.i32(d.int(1, 12)), min_size=d.of("float32", (), 0, 3), post_nms_topn=d.int(1, 6))


@cases("ExtractGlimpse", "ExtractGlimpseV2")
def glimpse(d):
    batch = d.int(1, 2)
    return dict(input=d.of("float32", (batch, d.int(3, 6), d.int(3, 6), d.int(1, 3))), size=d.i32([d.int(1, 4), d.int(1, 4)]), offsets=d.of("float32", (batch, 2), -1, 1), uniform_noise=False, noise="zero")


@cases("ImageProjectiveTransformV2", "ImageProjectiveTransformV3")
def projective(d):
    batch = d.int(1, 2)
    transforms = np.asarray([1, 0, 0, 0, 1, 0, 0, 0], "float32") + d.of("float32", (d.choice([1, batch]), 8), -0.3, 0.3) * np.asarray([1, 1, 3, 1, 1, 3, 0.1, 0.1], "float32")
    given = dict(images=d.T((batch, d.int(1, 6), d.int(1, 6), d.int(1, 3)), 0, 100, attr="dtype"), transforms=transforms.astype("float32"), output_shape=d.i32([d.int(1, 6), d.int(1, 6)]), interpolation=d.choice(["NEAREST", "BILINEAR"]), fill_mode=d.choice(["CONSTANT", "REFLECT", "WRAP", "NEAREST"]))
    return dict(given, fill_value=d.of("float32", (), 0, 9)) if d.op.endswith("V3") else given


def picture(d, kind, channels=None):
    """The bytes of a small picture."""
    channels = channels or d.choice([1, 3])
    x = d.random.randint(0, 256, (d.int(1, 12), d.int(1, 12), channels)).astype(np.uint8)
    x = np.repeat(np.repeat(x, 2, 0), 2, 1)
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        made = tf.io.encode_jpeg(x, quality=d.choice([60, 95, 100]), progressive=d.chance(0.3), chroma_downsampling=d.chance()) if kind == "jpeg" else tf.io.encode_png(x)
        data = session.run(made)
    if d.chance(0.05):
        data = data[: len(data) // 2]
    return np.asarray(data, object), x.shape


@cases("DecodeJpeg", "DecodeAndCropJpeg", "ExtractJpegShape")
def jpeg(d):
    data, shape = picture(d, "jpeg")
    given = dict(contents=data)
    if d.op != "ExtractJpegShape":
        given.update(channels=d.choice([0, 0, 1, 3]), ratio=d.choice([1, 1, 2, 4]), dct_method=d.choice(["", "INTEGER_FAST", "INTEGER_ACCURATE"]))
    if d.op == "DecodeAndCropJpeg":
        y, x = d.int(0, shape[0] - 1), d.int(0, shape[1] - 1)
        given.update(crop_window=d.i32([y, x, d.int(1, shape[0] - y), d.int(1, shape[1] - x)]), ratio=1)
    return given


@cases("DecodePng", "DecodeImage")
def png(d):
    data, _ = picture(d, "png" if d.op == "DecodePng" or d.chance() else "jpeg", d.choice([1, 3]) if d.op == "DecodeImage" else d.choice([1, 2, 3, 4]))
    return dict(contents=data, channels=d.choice([0, 0, 1, 3] + ([2, 4] if d.op == "DecodePng" else [])))


@cases("EncodePng", "EncodeJpeg")
def encode(d):
    channels = d.choice([1, 3] if d.op == "EncodeJpeg" else [1, 2, 3, 4])
    x = d.of("uint8" if d.op == "EncodeJpeg" else d.t("T"), (d.int(1, 8), d.int(1, 8), channels), 0, 255)
    if d.op == "EncodePng":
        return dict(image=x, compression=d.choice([-1, 0, 9]))
    return dict(image=x, format="", quality=d.choice([95, 50]))


@cases("EncodeJpegVariableQuality")
def encode_quality(d):
    return dict(images=d.of("uint8", (d.int(1, 8), d.int(1, 8), d.choice([1, 3])), 0, 255), quality=d.i32(d.int(0, 100)))


@cases("DecodeGif", "DecodeWebP", "DecodeJxl")
def other_pictures(d):
    return dict(contents=np.asarray(b"GIF89a", object))


@cases("DecodeWav")
def decode_wav(d):
    import struct
    channels, n = d.int(1, 2), d.int(0, 8)
    data = d.random.randint(-32768, 32768, n * channels).astype("<i2").tobytes()
    head = b"RIFF" + struct.pack("<I", 36 + len(data)) + b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, channels, 8000, 8000 * 2 * channels, 2 * channels, 16) + b"data" + struct.pack("<I", len(data))
    return dict(contents=np.asarray(head + data, object), desired_channels=d.choice([-1, 1, 2]), desired_samples=d.choice([-1, 3, 12]))


@cases("EncodeWav")
def encode_wav(d):
    return dict(audio=d.of("float32", (d.int(0, 6), d.int(1, 2)), -1.2, 1.2), sample_rate=d.i32(8000))


TOLERANCES.update(ScaleAndTranslate=1e-4, ScaleAndTranslateGrad=1e-4, AdjustHue=1e-4, AdjustSaturation=1e-4, ResizeBicubic=1e-4)
