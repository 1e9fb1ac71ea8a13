"""Strings, Unicode, encodings, records."""

import base64
import gzip
import zlib

import numpy as np
import tensorflow as tf

from .draw import WORDS, Program, cases, skip


def words(d, shape, pool=WORDS):
    out = np.empty(shape, object)
    for i in np.ndindex(tuple(shape)):
        out[i] = d.choice(pool)
    return out


def scalar(text):
    return np.asarray(text, object)


@cases("AsString")
def as_string(d):
    d.among("T", *[t for t in ("float32", "float64", "int32", "int64", "bool", "complex64", "int8", "uint8", "string", "float16", "bfloat16", "uint64", "variant") if t != "variant"])
    kind = d.int(0, 3)
    return dict(input=d.T(d.shape()), precision=d.choice([-1, -1, 0, 3, 8]), scientific=kind == 1, shortest=kind == 2, width=d.choice([-1, -1, 1, 9]), fill=d.choice(["", "", "0", " ", "-", "+"]))


@cases("ReduceJoin")
def reduce_join(d):
    shape = d.shape(0, 3)
    axes = [int(a) - (len(shape) if d.chance(0.3) else 0) for a in d.random.permutation(len(shape))[: d.int(0, len(shape))]]
    return dict(inputs=d.of("string", shape), reduction_indices=d.i32(axes), separator=d.choice(["", ",", "--"]))


PATTERNS = ["a", "a.*", "[a-z]+", "(\\w)(\\w)", "^$", "\\s+", ".", "(b|c)*", "\\d+", "(?i)HELLO", "[", "x*", "\\pL", "é"]
REWRITES = ["", "X", "\\0", "\\1-\\1", "<\\2>", "\\\\", "\\9", "$1"]


@cases("RegexFullMatch", "RegexReplace", "StaticRegexFullMatch", "StaticRegexReplace")
def regex(d):
    pattern, rewrite = d.choice(PATTERNS), d.choice(REWRITES)
    given = dict(input=d.of("string", d.shape()))
    static = d.op.startswith("Static")
    given["pattern"] = pattern if static else scalar(pattern.encode())
    if d.op.endswith("Replace"):
        given["rewrite"] = rewrite if static else scalar(rewrite.encode())
    return given


TEMPLATES = ["%s", "a %s b %s", "no place", "%s%s%s", "{} and {}", "%%s %s"]


@cases("StringFormat")
def string_format(d):
    template = d.choice(TEMPLATES)
    placeholder = d.choice(["%s", "{}"])
    n = template.count(placeholder) if d.chance(0.9) else d.int(0, 3)
    types = ["float32", "float64", "int32", "int64", "string", "bool", "int8", "uint8", "float16", "bfloat16", "complex64", "qint8"]
    return dict(inputs=[d.of(d.choice(types), d.shape(0, 3, 8)) for _ in range(n)], template=template, placeholder=placeholder, summarize=d.choice([3, 1, -1, 10, 0]))


@cases("StringJoin")
def string_join(d):
    shape = d.shape()
    return dict(inputs=[d.of("string", shape if d.chance(0.7) else ()) for _ in range(d.int(1, 3))], separator=d.choice(["", ",", "--"]))


@cases("StringLength", "StringStrip")
def one_string(d):
    return {d.op_def.input_arg[0].name: d.of("string", d.shape())}


@cases("StringLower", "StringUpper")
def case(d):
    return dict(input=words(d, d.shape(), [*WORDS, "ÀÉß straße ǅ İı ﬁ".encode(), "ΑΣ σς".encode()]), encoding=d.choice(["", "utf-8"]))


@cases("StringNGrams")
def ngrams(d):
    s = np.cumsum([0] + [d.int(0, 4) for _ in range(d.int(0, 3))])
    return dict(data=d.of("string", (int(s[-1]),)), data_splits=d.index(s, "Tsplits"), separator=d.choice(["", " ", "|"]), ngram_widths=[d.int(1, 4) for _ in range(d.int(1, 2))], left_pad=d.choice(["", "L"]), right_pad=d.choice(["", "R"]), pad_width=d.choice([-1, 0, 1, 2]))


@cases("StringSplit", "StringSplitV2")
def string_split(d):
    given = dict(input=words(d, (d.int(0, 4),), [*WORDS, b"a b c", b" a  b ", b"a,b,,c", b",,", b"a<>b<>c"]))
    sep = scalar(d.choice([b"", b" ", b",", b"<>", b",;"]))
    return dict(given, delimiter=sep) if d.op == "StringSplit" else dict(given, sep=sep, maxsplit=d.choice([-1, 0, 1, 2]))


@cases("StringToHashBucket", "StringToHashBucketFast", "StringToHashBucketStrong")
def hash_bucket(d):
    given = {d.op_def.input_arg[0].name: d.of("string", d.shape()), "num_buckets": d.choice([1, 7, 1000, 2**40])}
    return dict(given, key=[d.int(-9, 99), d.int(0, 99)]) if d.op.endswith("Strong") else given


NUMBERS = [b"1", b"-2", b" 3 ", b"4.5", b"1e3", b"0x1F", b"nan", b"inf", b"-inf", b"1e400", b"12345678901", b"-9223372036854775808", b"+7", b".5", b"5.", b"300", b"1e-50"]


@cases("StringToNumber")
def to_number(d):
    pool = NUMBERS if d.chance() else [b"1", b"-2", b" 3 ", b"007", b"120"] if d.t("out_type").is_integer else [b"1", b"4.5", b"1e3", b"-.25", b"1e-50", b"3.40282357e38"]
    return dict(string_tensor=words(d, d.shape(0, 2), [*pool, b""] if d.chance(0.1) else pool))


@cases("Substr")
def substr(d):
    shape = d.shape()
    text = words(d, shape, [b"hello", b"substring", "grüße 日本".encode()])
    if d.chance():
        return dict(input=text, pos=d.index(d.int(-5, 4), "T"), len=d.index(d.int(0, 4), "T"))
    return dict(input=text, pos=d.T(shape, -4, 4), len=d.T(shape, 0, 4))


ENCODINGS = ["UTF-8", "UTF-16-BE", "UTF-32-BE", "UTF-16", "ISO-8859-1", "US-ASCII", "utf8", "windows-1252", "shift-jis"]


@cases("UnicodeDecode", "UnicodeDecodeWithOffsets", "UnicodeTranscode")
def unicode_decode(d):
    encoding = d.choice(ENCODINGS[:3] if d.chance(0.7) else ENCODINGS)
    pool = ["grüße", "日本語", "😀", "", "a\x01b", "plain"]
    text = [x.encode(encoding, "replace") for x in pool] + [b"\xff", b"ab\xc3", b"\xe6\x97", b"\xd8\x3d", b"\x80abc", b"\xed\xa0\x80"]
    return dict(input=words(d, d.shape(0, 2) if d.op == "UnicodeTranscode" else d.shape(0, 2), text), input_encoding=encoding, replacement_char=d.choice([65533, 65, 32, 0x1F600]))


@cases("UnicodeEncode")
def unicode_encode(d):
    s = np.cumsum([0] + [d.int(0, 4) for _ in range(d.int(1, 3))])
    pool = [65, 228, 0x65E5, 0x1F600] + ([0xD800, 0x110000, -1] if d.chance(0.3) else [])
    return dict(input_values=d.i32([d.choice(pool) for _ in range(int(s[-1]))]), input_splits=d.index(s, "Tsplits"), replacement_char=d.choice([65533, 65]))


@cases("UnicodeScript")
def unicode_script(d):
    return dict(input=d.i32(np.reshape([d.choice([65, 228, 0x65E5, 0x1F600, 0x410, 0x5D0, 0x110000, -1, 0x3042, 0x0300]) for _ in range(4)], d.choice([(4,), (2, 2)]))))


@cases("DecodeBase64")
def decode_base64(d):
    return dict(input=words(d, d.shape(0, 2), [base64.urlsafe_b64encode(w).rstrip(b"=") for w in WORDS] + [base64.urlsafe_b64encode(w) for w in WORDS] + ([b"+/+/", b"a", b"====", b"ab=c"] if d.chance(0.2) else [])))


@cases("EncodeBase64")
def encode_base64(d):
    return dict(input=d.of("string", d.shape()))


@cases("DecodeRaw")
def decode_raw(d):
    n = d.int(0, 3) * 16
    return dict(bytes=words(d, d.shape(0, 2), [bytes(d.random.randint(0, 2 if d.t("out_type") == tf.bool else 120, n).astype(np.uint8)) for _ in range(3)]))


@cases("DecodePaddedRaw")
def decode_padded(d):
    return dict(input_bytes=words(d, d.shape(1, 2), [bytes(d.random.randint(0, 120, d.int(0, 20)).astype(np.uint8)) for _ in range(3)]), fixed_length=d.i32(d.choice([8, 16, 32])))


@cases("DecodeCompressed")
def decode_compressed(d):
    kind = d.choice(["", "ZLIB", "GZIP"])
    pack = {"": lambda x: x, "ZLIB": zlib.compress, "GZIP": gzip.compress}[kind if d.chance(0.9) else ""]
    return dict(bytes=words(d, d.shape(0, 2), [pack(w * 5) for w in WORDS]), compression_type=kind)


@cases("DecodeCSV")
def decode_csv(d):
    types = [d.choice(["int32", "int64", "float32", "float64", "string"]) for _ in range(d.int(1, 4))]
    delimiter = d.choice([",", ";", "\t"])
    rows = []
    for _ in range(d.int(1, 3)):
        fields = [d.choice([b"", b"NA", b"7"] if d.chance(0.3) else [b"1", b"-5", b" 3"] if t.startswith("int") else [b"1.5", b"2e3", b"-1"] if t.startswith("f") else [b"abc", b'"quoted"', b'"a' + delimiter.encode() + b'b"', b'"x""y"', b"sp ace"]) for t in types]
        rows.append(delimiter.encode().join(fields) + d.choice([b"", b"", b"", b"\n", b"\r\n"]))
    records = np.empty(len(rows), object)
    records[:] = rows
    return dict(records=records if d.chance(0.8) else scalar(rows[0]), record_defaults=[d.of(t, (0 if d.chance(0.05) else 1,)) for t in types], field_delim=delimiter, na_value=d.choice(["", "NA"]))


@cases("DecodeJSONExample")
def decode_json(d):
    pool = [b'{"features": {"feature": {"a": {"int64List": {"value": ["1", "2"]}}}}}', b"{}", b'{"features": {"feature": {"b": {"floatList": {"value": [1.5]}}}}}', b'{"features": {"feature": {"c": {"bytesList": {"value": ["aGk="]}}}}}'] + ([b"{", b'{"x": 1}'] if d.chance(0.2) else [])
    return dict(json_examples=words(d, d.shape(0, 2), pool))


@cases("Fingerprint")
def fingerprint(d):
    return dict(data=d.T(d.shape(1, 3)), method=scalar(b"farmhash64"))


@cases("SerializeTensor", "ParseTensor")
def serialize_tensor(d):
    if d.op == "SerializeTensor":
        d.among("T", "float32", "float64", "int32", "int64", "bool", "uint8", "string", "float16", "bfloat16", "complex64", "qint8")
        return dict(tensor=d.T(d.shape()))
    value = d.of(d.choice(["float32", "int64", "string", "bool", "complex128", "uint8", "bfloat16"]), d.shape())
    proto = tf.make_tensor_proto(value).SerializeToString()
    return dict(serialized=scalar(proto), out_type=tf.as_dtype(value.dtype) if value.dtype.kind != "O" else tf.string)


@cases("ShardedFilename", "ShardedFilespec")
def sharded(d):
    given = dict(basename=scalar(d.choice([b"model", b"/tmp/x"])), num_shards=d.i32(d.int(0, 200)))
    return dict(given, shard=d.i32(d.int(-3, 200))) if d.op == "ShardedFilename" else given


def example(d, seed_types):
    message = tf.train.Example()
    for name, t in seed_types.items():
        if d.chance(0.15):
            continue
        feature = message.features.feature[name]
        n = d.int(0, 3)
        if t == "float32":
            feature.float_list.value.extend(d.of(t, (n,)).tolist())
        elif t == "int64":
            feature.int64_list.value.extend(d.of(t, (n,)).tolist())
        else:
            feature.bytes_list.value.extend(d.of("string", (n,)).tolist())
    return message


def spec(d, n):
    return {f"k{i}": d.choice(["float32", "int64", "string"]) for i in range(n)}


@cases("ParseExample", "ParseExampleV2", "ParseSingleExample")
def parse_example(d):
    sparse, ragged = spec(d, d.int(0, 2)), {}
    dense = {f"d{i}": d.choice(["float32", "int64", "string"]) for i in range(d.int(0, 2))}
    if d.op == "ParseExampleV2":
        ragged = {f"r{i}": d.choice(["float32", "int64", "string"]) for i in range(d.int(0, 2))}
    shapes = {k: d.choice([(), (2,), (None,), (None, 2), (2, 1)]) for k in dense}
    single = d.op == "ParseSingleExample"
    records = []
    for _ in range(1 if single else d.int(0, 3)):
        message = example(d, {**sparse, **ragged})
        for k, t in dense.items():
            if d.chance(0.2):
                continue
            n = int(np.prod([x or d.int(0, 2) for x in shapes[k]])) if d.chance(0.9) else d.int(0, 3)
            kind = {"float32": "float_list", "int64": "int64_list", "string": "bytes_list"}[t]
            getattr(message.features.feature[k], kind).value.extend(d.of(t, (n,)).tolist())
        records.append(message.SerializeToString())
    serialized = np.empty(len(records), object)
    serialized[:] = records
    defaults = []
    for k, t in dense.items():
        shape = shapes[k]
        if None in shape:
            defaults.append(d.of(t, ()) if len(shape) == 1 else d.of(t, (1,) if shape[1] == 1 else ()))
        else:
            defaults.append(d.of(t, shape) if d.chance(0.8) else d.of(t, (0,)))
    keys = lambda names: [scalar(k.encode()) for k in names]
    kinds = lambda table: [tf.as_dtype(t) for t in table.values()]
    dense_shapes = [tf.TensorShape(shapes[k]) for k in dense]
    if single:
        return dict(serialized=scalar(records[0]), dense_defaults=defaults, num_sparse=len(sparse), sparse_keys=list(sparse), dense_keys=list(dense), sparse_types=kinds(sparse), dense_shapes=dense_shapes)
    names = np.asarray([], object)
    if d.op == "ParseExample":
        return dict(serialized=serialized, names=names, sparse_keys=keys(sparse), dense_keys=keys(dense), dense_defaults=defaults, sparse_types=kinds(sparse), dense_shapes=dense_shapes)
    vector = lambda table: np.asarray([k.encode() for k in table], object)
    whole = serialized if d.chance(0.8) or not records else scalar(records[0])
    return dict(serialized=whole, names=names, sparse_keys=vector(sparse), dense_keys=vector(dense), ragged_keys=vector(ragged), dense_defaults=defaults, num_sparse=len(sparse), sparse_types=kinds(sparse), ragged_value_types=kinds(ragged), ragged_split_types=[d.choice([tf.int32, tf.int64]) for _ in ragged], dense_shapes=dense_shapes)


@cases("ParseSequenceExample", "ParseSequenceExampleV2", "ParseSingleSequenceExample")
def parse_sequence(d):
    kinds = ["float32", "int64", "string"]
    context = {f"c{i}": d.choice(kinds) for i in range(d.int(0, 2))}
    lists = {f"l{i}": d.choice(kinds) for i in range(d.int(0, 2))}
    ragged = {f"r{i}": d.choice(kinds) for i in range(d.int(0, 2))}
    fixed = {f"f{i}": d.choice(kinds) for i in range(d.int(0, 1))}
    records = []
    for _ in range(d.int(1, 3)):
        message = tf.train.SequenceExample()
        message.context.CopyFrom(example(d, context).features)
        for k, t in {**lists, **ragged, **fixed}.items():
            if d.chance(0.15):
                continue
            for _ in range(d.int(0, 3)):
                n = 2 if k in fixed else d.int(0, 2)
                kind = {"float32": "float_list", "int64": "int64_list", "string": "bytes_list"}[t]
                getattr(message.feature_lists.feature_list[k].feature.add(), kind).value.extend(d.of(t, (n,)).tolist())
        records.append(message.SerializeToString())
    serialized = np.asarray(records, object)

    def build(feed):
        sequence = {k: tf.io.VarLenFeature(t) for k, t in lists.items()}
        sequence.update({k: tf.io.FixedLenSequenceFeature((2,), t, allow_missing=d.op != "ParseSequenceExample") for k, t in fixed.items()})
        if d.op == "ParseSequenceExampleV2":
            sequence.update({k: tf.io.RaggedFeature(t) for k, t in ragged.items()})
        about = {k: tf.io.VarLenFeature(t) for k, t in context.items()}
        if d.op == "ParseSingleSequenceExample":
            parsed = tf.io.parse_single_sequence_example(feed(scalar(records[0])), about, sequence)
        else:
            parsed = tf.io.parse_sequence_example(feed(serialized), about, sequence)
        return [tf.nest.flatten(parsed, expand_composites=True)]

    if not (context or lists or fixed):
        return None
    return Program(build, f"{context} {lists} {ragged} {fixed} {records}")


skip("they touch files", *"""WriteFile ReadFile MatchingFiles MatchingFilesDataset ExperimentalMatchingFilesDataset Save SaveSlices SaveV2 Restore RestoreSlice RestoreV2
MergeV2Checkpoints DumpTensor DatasetToTFRecord ExperimentalDatasetToTFRecord TFRecordDataset TFRecordDatasetV2""".split())
skip("they print", "Print", "PrintV2")
