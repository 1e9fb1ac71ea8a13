#!/usr/bin/env python3
"""Writes corpus/decoders: small files of every kind that decoder_cases.cc knows. Needs TensorFlow; WebP files come from
`cwebp` and `webpmux`. Run it in this folder."""

import gzip
import os
import struct
import subprocess
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus", "decoders")
os.makedirs(FOLDER, exist_ok=True)
raw = tf.raw_ops
RGB = (np.add.outer(np.arange(9), np.arange(11))[..., None] * np.array([9, 7, 5])).astype("uint8")
RGBA = np.dstack([RGB, RGB[..., :1]])


def save(name, data):
    with open(os.path.join(FOLDER, name), "wb") as file:
        file.write(data)


def gif():
    """Two frames, the second smaller and with a transparent colour; codes are cleared so often that none grows."""
    out = b"GIF89a" + struct.pack("<HHBBB", 3, 2, 0x81, 0, 0) + bytes(range(10, 22))
    for left, top, width, height, pixels in ((0, 0, 3, 2, [0, 1, 2, 3, 0, 1]), (1, 0, 2, 2, [3, 3, 0, 0])):
        out += b"!\xf9\x04\x01\0\0\0\0," + struct.pack("<HHHHB", left, top, width, height, 0)
        codes = [code for i in range(0, len(pixels), 2) for code in (4, pixels[i], pixels[i + 1])] + [5]
        packed = sum(code << 3 * i for i, code in enumerate(codes)).to_bytes((3 * len(codes) + 7) // 8, "little")
        out += b"\x02" + bytes([len(packed)]) + packed + b"\0"
    return out + b";"


def bmp(pixels, bits):
    height, width = pixels.shape[:2]
    rows = [row[:, ::-1].tobytes() + b"\0" * (-row.size % 4) for row in pixels[::-1]]
    body = b"".join(rows)
    header = struct.pack("<2sIHHI", b"BM", 54 + len(body), 0, 0, 54)
    return header + struct.pack("<IiiHHIIiiII", 40, width, height, 1, bits, 0, 0, 0, 0, 0, 0) + body


def webp():
    with tempfile.TemporaryDirectory() as folder:
        path = lambda name: os.path.join(folder, name)  # noqa: E731
        for name, pixels in (("rgb", RGB), ("rgba", RGBA)):
            with open(path(name + ".png"), "wb") as file:
                file.write(raw.EncodePng(image=pixels).numpy())
        call = lambda *command: subprocess.run(command, check=True, stderr=subprocess.DEVNULL)  # noqa: E731
        call("cwebp", "-quiet", "-q", "50", path("rgb.png"), "-o", path("lossy.webp"))
        call("cwebp", "-quiet", "-lossless", path("rgba.png"), "-o", path("alpha.webp"))
        frames = ["-frame", path("alpha.webp"), "+100", "-frame", path("alpha.webp"), "+100"]
        call("webpmux", *frames, "-o", path("animation.webp"))
        for name in ("lossy", "alpha", "animation"):
            with open(path(name + ".webp"), "rb") as file:
                save("webp_" + name, file.read())


def examples():
    example = tf.train.Example()
    example.features.feature["a"].float_list.value.extend([1, 2])
    example.features.feature["p"].bytes_list.value.extend([b"x", b"", b"yy"])
    example.features.feature["s"].bytes_list.value.append(b"text")
    example.features.feature["i"].int64_list.value.extend([1, -1, 2**62])
    example.features.feature["f"].float_list.value.extend([1, 2, 3])
    save("example", example.SerializeToString())
    sequence = tf.train.SequenceExample()
    sequence.context.CopyFrom(example.features)
    for i in range(3):
        sequence.feature_lists.feature_list["d"].feature.add().float_list.value.append(i)
        sequence.feature_lists.feature_list["s"].feature.add().int64_list.value.extend(range(i))
        sequence.feature_lists.feature_list["r"].feature.add().bytes_list.value.extend([b"r"] * i)
    save("sequence", sequence.SerializeToString())


save("png_rgb", raw.EncodePng(image=RGB).numpy())
save("png_gray", raw.EncodePng(image=RGB[..., :1]).numpy())
save("png_wide", raw.EncodePng(image=RGBA.astype("uint16") * 257).numpy())
save("jpeg_plain", raw.EncodeJpeg(image=RGB).numpy())
save("jpeg_gray", raw.EncodeJpeg(image=RGB[..., :1]).numpy())
save("jpeg_progressive", raw.EncodeJpeg(image=RGB, progressive=True, chroma_downsampling=False).numpy())
save("gif", gif())
save("bmp_rgb", bmp(RGB, 24))
save("bmp_gray", bmp(RGB[..., :1], 8))
webp()
examples()
with tf.io.TFRecordWriter(os.path.join(FOLDER, "record")) as writer:
    for record in (b"one", b"", b"three" * 20):
        writer.write(record)
save("csv", b'1.5,"quoted, ""text""",7')
save("json", b'{"features": {"feature": {"k": {"int64List": {"value": [1, "2"]}}, "b": {"bytesList": {"value": ["YQ=="]}}}}}')
save("tensor", tf.io.serialize_tensor(tf.constant([[1.0, 2.0], [3.0, 4.0]])).numpy())
with tempfile.TemporaryDirectory() as temporary:
    prefix = os.path.join(temporary, "bundle")
    raw.SaveV2(prefix=prefix, tensor_names=["key", "other"], shape_and_slices=["", ""], tensors=[tf.constant(1.0)] * 2)
    with open(prefix + ".index", "rb") as index:
        save("table", index.read())
    with open(prefix + ".index", "rb") as index:
        save("checkpoint", index.read())
    raw.Save(filename=prefix, tensor_names=["key", "other"], data=[tf.constant([1.0, 2.0]), tf.constant(["text", ""])])
    with open(prefix, "rb") as file:
        save("checkpointv1", file.read())
    numbers = tf.data.Dataset.range(40).map(lambda i: i % 3)
    list(numbers.snapshot(os.path.join(temporary, "snapshot"), compression="SNAPPY"))
    for path in tf.io.gfile.glob(os.path.join(temporary, "snapshot", "*", "*", "*", "*.snapshot"))[:1]:
        with open(path, "rb") as file:
            save("snappy", file.read())
element = raw.CompressElement(components=[tf.constant([1.5, 2.5]), tf.constant(["text", ""]), tf.constant([True])])
save("element", tf.io.serialize_tensor(element).numpy())
save("wav", raw.EncodeWav(audio=np.sin(np.arange(40)).reshape(20, 2).astype("f"), sample_rate=8000).numpy())
save("compressed", gzip.compress(b"some text, some text, some more text" * 4, mtime=0))
