"""Shapes moved, cut, joined, gathered."""

import numpy as np
import tensorflow as tf

from .draw import Program, cases


@cases("Reshape")
def reshape(d):
    shape = d.shape(0, 4)
    n = int(np.prod(shape))
    target = [n]
    for f in (2, 3, 2):
        if target[-1] % f == 0 and target[-1] and d.chance():
            target = target[:-1] + [f, target[-1] // f]
    if d.chance(0.4) and n:
        target[d.int(0, len(target) - 1)] = -1
    return dict(tensor=d.T(shape), shape=d.index(target, "Tshape"))


@cases("Transpose", "ConjugateTranspose")
def transpose(d):
    shape = d.shape(0, 5)
    return dict(x=d.T(shape), perm=d.index(d.random.permutation(len(shape)), "Tperm"))


@cases("ExpandDims")
def expand(d):
    shape = d.shape(0, 3)
    return dict(input=d.T(shape), dim=d.index(d.int(-len(shape) - 1, len(shape)), "Tdim"))


@cases("Squeeze")
def squeeze(d):
    shape = tuple(1 if d.chance() else n for n in d.shape(0, 5))
    ones = [i for i, n in enumerate(shape) if n == 1 and d.chance()]
    return dict(input=d.T(shape), squeeze_dims=ones)


@cases("Concat", "ConcatV2")
def concat(d):
    shape = list(d.shape(1, 4))
    axis = d.int(0, len(shape) - 1)
    values = [d.T(shape[:axis] + [d.int(0, 3)] + shape[axis + 1:]) for _ in range(d.int(2, 4))]
    return dict(concat_dim=d.i32(axis), values=values) if d.op == "Concat" else dict(values=values, axis=d.index(axis - (len(shape) if d.chance(0.3) else 0), "Tidx"))


@cases("ConcatOffset")
def concat_offset(d):
    shape = list(d.shape(1, 4))
    axis = d.int(0, len(shape) - 1)
    return dict(concat_dim=d.i32(axis), shape=[d.index(shape[:axis] + [d.int(0, 3)] + shape[axis + 1:], "shape_type") for _ in range(d.int(2, 4))])


@cases("Pack", "ParallelConcat")
def pack(d):
    shape = d.shape(0, 3)
    n = d.int(1, 4)
    if d.op == "ParallelConcat":
        d.constants = True
        return dict(values=[d.T((1, *shape)) for _ in range(n)], shape=(n, *shape))
    return dict(values=[d.T(shape) for _ in range(n)], axis=d.int(-len(shape) - 1, len(shape)))


@cases("Unpack")
def unpack(d):
    shape = d.shape(1, 4, zero=0)
    axis = d.axis(len(shape))
    return dict(value=d.T(shape), num=shape[axis], axis=axis)


@cases("Split")
def split(d):
    shape, n = list(d.shape(1, 4)), d.int(1, 3)
    axis = d.axis(len(shape))
    shape[axis] *= n
    return dict(split_dim=d.i32(axis), value=d.T(shape), num_split=n)


@cases("SplitV")
def split_v(d):
    shape, sizes = list(d.shape(1, 4)), [d.int(0, 3) for _ in range(d.int(1, 4))]
    axis = d.axis(len(shape))
    shape[axis] = sum(sizes)
    if d.chance(0.3):
        sizes[d.int(0, len(sizes) - 1)] = -1
    return dict(value=d.T(shape), size_splits=d.index(sizes, "Tlen"), split_dim=d.i32(axis), num_split=len(sizes))


@cases("Slice")
def slice_(d):
    shape = d.shape(0, 5)
    begin = [d.int(0, n) for n in shape]
    size = [-1 if d.chance(0.2) else d.int(0, n - b) for n, b in zip(shape, begin)]
    return dict(input=d.T(shape), begin=d.index(begin, "Index"), size=d.index(size, "Index"))


def strided(d, shape):
    """Begin, end, strides and masks over a shape, with new axes and an ellipsis at times; and the shape of what is cut."""
    begin, end, strides, masks = [], [], [], dict.fromkeys(("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"), 0)
    dims, result, ellipsis = list(shape), [], False
    while dims:
        bit = 1 << len(begin)
        if not ellipsis and d.chance(0.1):
            ellipsis = True
            masks["ellipsis_mask"] |= bit
            count = d.int(0, len(dims))
            result += dims[:count]
            rest = dims[count:]
            begin.append(0), end.append(0), strides.append(1)
            for n in rest:
                one(d, n, begin, end, strides, masks, result)
            break
        if d.chance(0.1):
            masks["new_axis_mask"] |= bit
            begin.append(0), end.append(0), strides.append(1)
            result.append(1)
            continue
        if d.chance(0.1):
            result += dims
            break
        one(d, dims.pop(0), begin, end, strides, masks, result)
    return begin, end, strides, masks, result


def one(d, n, begin, end, strides, masks, result):
    bit = 1 << len(begin)
    if n and d.chance(0.2):
        masks["shrink_axis_mask"] |= bit
        b = d.int(-n, n - 1)
        begin.append(b), end.append(b + 1), strides.append(1)
        return
    stride = d.choice([1, 1, 1, 2, -1, -2, 3])
    b, e = d.int(-n - 1, n + 1), d.int(-n - 1, n + 1)
    no_begin, no_end = d.chance(0.3), d.chance(0.3)
    masks["begin_mask"] |= bit * no_begin
    masks["end_mask"] |= bit * no_end
    begin.append(b), end.append(e), strides.append(stride)
    result.append(len(range(n)[slice(None if no_begin else b, None if no_end else e, stride)]))


@cases("StridedSlice")
def strided_slice(d):
    shape = d.shape(0, 5)
    begin, end, strides, masks, _ = strided(d, shape)
    return dict(input=d.T(shape), begin=d.index(begin, "Index"), end=d.index(end, "Index"), strides=d.index(strides, "Index"), **masks)


@cases("StridedSliceGrad")
def strided_slice_grad(d):
    shape = d.shape(0, 5)
    begin, end, strides, masks, result = strided(d, shape)
    return dict(shape=d.index(shape, "Index"), begin=d.index(begin, "Index"), end=d.index(end, "Index"), strides=d.index(strides, "Index"), dy=d.T(result), **masks)


@cases("TensorStridedSliceUpdate")
def strided_slice_update(d):
    shape = d.shape(0, 5)
    begin, end, strides, masks, result = strided(d, shape)
    return dict(input=d.T(shape), begin=d.index(begin, "Index"), end=d.index(end, "Index"), strides=d.index(strides, "Index"), value=d.T(result if d.chance(0.8) else ()), **masks)


@cases("Gather")
def gather(d):
    shape = d.shape(1, 4)
    return dict(params=d.T(shape, attr="Tparams"), indices=d.index(d.random.randint(0, max(shape[0], 1), d.shape())))


@cases("GatherV2")
def gather_v2(d):
    shape = d.shape(1, 4, zero=0.02)
    axis = d.int(0, len(shape) - 1)
    batch = d.int(0, axis) if d.chance(0.4) else 0
    indices = d.random.randint(0, max(shape[axis], 1), shape[:batch] + d.shape(0, 2))
    return dict(params=d.T(shape, attr="Tparams"), indices=d.index(indices), axis=d.index(axis - (len(shape) if d.chance(0.2) else 0), "Taxis"), batch_dims=batch)


@cases("GatherNd")
def gather_nd(d):
    shape = d.shape(1, 4, zero=0)
    depth = d.int(0, len(shape))
    at = np.stack([d.random.randint(0, n, d_) for n in shape[:depth] for d_ in [(3, 2)]], -1) if depth else np.zeros((3, 2, 0), int)
    return dict(params=d.T(shape, attr="Tparams"), indices=d.index(at[0] if d.chance() else at))


def places(d, shape, unique=False, depth=None):
    depth = d.int(1, len(shape)) if depth is None else depth
    n = d.int(0, 5)
    if unique:
        total = int(np.prod(shape[:depth]))
        at = np.stack(np.unravel_index(d.random.permutation(total)[:n], shape[:depth]), -1)
    else:
        at = np.stack([d.random.randint(0, size, n) for size in shape[:depth]], -1)
    return at, (len(at), *shape[depth:])


@cases("ScatterNd")
def scatter_nd(d):
    shape = d.shape(1, 4, zero=0)
    at, updates = places(d, shape)
    return dict(indices=d.index(at), updates=d.T(updates), shape=d.index(shape))


@cases("ScatterNdNonAliasingAdd")
def scatter_nd_add(d):
    shape = d.shape(1, 4, zero=0)
    at, updates = places(d, shape)
    return dict(input=d.T(shape), indices=d.index(at), updates=d.T(updates))


@cases("TensorScatterAdd", "TensorScatterMax", "TensorScatterMin", "TensorScatterSub", "TensorScatterUpdate")
def tensor_scatter(d):
    shape = d.shape(1, 4, zero=0)
    at, updates = places(d, shape, unique=d.op == "TensorScatterUpdate")
    return dict(tensor=d.T(shape), indices=d.index(at), updates=d.T(updates))


@cases("InplaceAdd", "InplaceSub", "InplaceUpdate")
def inplace(d):
    shape = d.shape(1, 3, zero=0)
    rows = d.random.permutation(shape[0])[: d.int(0, shape[0])]
    return dict(x=d.T(shape), i=d.i32(rows), v=d.T((len(rows), *shape[1:])))


@cases("Empty")
def empty(d):
    return dict(shape=d.i32(d.shape()), init=True)


@cases("Fill")
def fill(d):
    return dict(dims=d.index(d.shape(), "index_type"), value=d.T(()))


@cases("BroadcastTo")
def broadcast_to(d):
    full = d.shape(0, 4)
    shape = tuple(1 if d.chance(0.3) else n for n in full)[d.int(0, len(full)):]
    return dict(input=d.T(shape), shape=d.index(full, "Tidx"))


@cases("BroadcastArgs", "BroadcastGradientArgs")
def broadcast_args(d):
    a, b = d.broadcast(2, 4)
    return dict(s0=d.index(a, "T"), s1=d.index(b, "T"))


@cases("Tile")
def tile(d):
    shape = d.shape(0, 4)
    return dict(input=d.T(shape), multiples=d.index([d.int(0, 3) for _ in shape], "Tmultiples"))


@cases("TileGrad")
def tile_grad(d):
    shape = d.shape(1, 3)
    times = [d.int(1, 3) for _ in shape]
    return dict(input=d.T([a * b for a, b in zip(shape, times)]), multiples=d.i32(times))


def paddings(d, shape, limit=3):
    return [[d.int(0, limit), d.int(0, limit)] for _ in shape]


@cases("Pad", "PadV2")
def pad(d):
    shape = d.shape(0, 5)
    given = dict(input=d.T(shape), paddings=d.index(np.reshape(paddings(d, shape), (len(shape), 2)), "Tpaddings"))
    return dict(given, constant_values=d.T(())) if d.op == "PadV2" else given


@cases("MirrorPad", "MirrorPadGrad")
def mirror_pad(d):
    shape = d.shape(1, 4, zero=0)
    mode = d.choice(["REFLECT", "SYMMETRIC"])
    sides = [[d.int(0, n - (mode == "REFLECT")) for _ in range(2)] for n in shape]
    if d.op == "MirrorPadGrad":
        shape = tuple(n + a + b for n, (a, b) in zip(shape, sides))
    return dict(input=d.T(shape), paddings=d.index(sides, "Tpaddings"), mode=mode)


@cases("Reverse")
def reverse(d):
    shape = d.shape(0, 4)
    return dict(tensor=d.T(shape), dims=d.of("bool", (len(shape),)))


@cases("ReverseV2")
def reverse_v2(d):
    shape = d.shape(0, 4)
    axes = [int(a) - (len(shape) if d.chance(0.3) else 0) for a in d.random.permutation(len(shape))[: d.int(0, len(shape))]]
    return dict(tensor=d.T(shape), axis=d.index(axes, "Tidx"))


@cases("ReverseSequence")
def reverse_sequence(d):
    shape = d.shape(2, 4, zero=0)
    seq, batch = (int(x) for x in d.random.permutation(len(shape))[:2])
    return dict(input=d.T(shape), seq_lengths=d.index(d.random.randint(0, shape[seq] + 1, shape[batch]), "Tlen"), seq_dim=seq, batch_dim=batch)


@cases("Roll")
def roll(d):
    shape = d.shape(1, 4)
    n = d.int(0, 3)
    if d.chance(0.3):
        return dict(input=d.T(shape), shift=d.index(d.int(-5, 5), "Tshift"), axis=d.index(d.axis(len(shape)), "Taxis"))
    return dict(input=d.T(shape), shift=d.index([d.int(-5, 5) for _ in range(n)], "Tshift"), axis=d.index([d.axis(len(shape)) for _ in range(n)], "Taxis"))


@cases("OneHot")
def one_hot(d):
    shape = d.shape(0, 3)
    return dict(indices=d.T(shape, -1, 5, attr="TI"), depth=d.i32(d.int(0, 5)), on_value=d.T(()), off_value=d.T(()), axis=d.int(-1, len(shape)))


@cases("Where")
def where(d):
    x = d.T(d.shape(0, 4))
    return dict(input=x if d.chance() or x.dtype.names or x.dtype.kind == "O" else (x * (d.random.uniform(size=x.shape) < 0.5)).astype(x.dtype))


@cases("Unique", "UniqueWithCounts")
def unique(d):
    return dict(x=d.T((d.int(0, 8),), 0, 4))


@cases("UniqueV2", "UniqueWithCountsV2")
def unique_v2(d):
    shape = d.shape(1, 3, 5)
    return dict(x=d.T(shape, 0, 2), axis=d.index([d.axis(len(shape))] if d.chance() or len(shape) > 1 else [], "Taxis"))


@cases("ListDiff")
def list_diff(d):
    return dict(x=d.T((d.int(0, 7),), 0, 5), y=d.T((d.int(0, 4),), 0, 5))


@cases("InvertPermutation")
def invert(d):
    return dict(x=d.index(d.random.permutation(d.int(0, 6)), "T"))


@cases("UnravelIndex")
def unravel(d):
    dims = d.shape(1, 3, zero=0)
    return dict(indices=d.index(d.random.randint(0, int(np.prod(dims)), d.shape(0, 1)), "Tidx"), dims=d.index(dims, "Tidx"))


@cases("DynamicPartition")
def dynamic_partition(d):
    shape, n = d.shape(0, 2), d.int(1, 4)
    return dict(data=d.T(shape + d.shape(0, 2)), partitions=d.of("int32", shape, 0, n - 1), num_partitions=n)


@cases("DynamicStitch", "ParallelDynamicStitch")
def dynamic_stitch(d):
    rest, n = d.shape(0, 2), d.int(1, 3)
    sizes = [d.int(0, 4) for _ in range(n)]
    order, at = d.random.permutation(max(sum(sizes), 1)), np.cumsum([0, *sizes])
    indices = [order[a:b] for a, b in zip(at, at[1:])]
    return dict(indices=[d.i32(i) for i in indices], data=[d.T((len(i), *rest)) for i in indices])


@cases("MatrixBandPart")
def band_part(d):
    shape = d.shape(2, 4)
    return dict(input=d.T(shape), num_lower=d.index(d.int(-1, shape[-2]), "Tindex"), num_upper=d.index(d.int(-1, shape[-1]), "Tindex"))


@cases("Diag")
def diag(d):
    return dict(diagonal=d.T(d.shape(1, 3, 3)))


@cases("DiagPart")
def diag_part(d):
    half = d.shape(1, 2)
    return dict(input=d.T(half + half))


@cases("MatrixDiag")
def matrix_diag(d):
    return dict(diagonal=d.T(d.shape(1, 3)))


@cases("MatrixDiagPart")
def matrix_diag_part(d):
    return dict(input=d.T(d.shape(2, 4)))


@cases("MatrixSetDiag")
def matrix_set_diag(d):
    shape = d.shape(2, 4)
    return dict(input=d.T(shape), diagonal=d.T((*shape[:-2], min(shape[-2:]))))


def band(d, rows, columns):
    low = d.int(-rows + 1, columns - 1)
    high = d.int(low, columns - 1) if d.chance() else low
    lengths = [min(rows + min(k, 0), columns - max(k, 0)) for k in range(low, high + 1)]
    return low, high, max(lengths)


@cases("MatrixDiagV2", "MatrixDiagV3")
def matrix_diag_v2(d):
    rows, columns = d.int(1, 5), d.int(1, 5)
    low, high, longest = band(d, rows, columns)
    shape = (*d.shape(0, 2), *([high - low + 1] if high > low else []), longest)
    known = d.chance(0.7)
    return dict(diagonal=d.T(shape), k=d.i32([low, high] if high > low or d.chance() else low), num_rows=d.i32(rows if known else -1), num_cols=d.i32(columns if known else -1), padding_value=d.T(()))


@cases("MatrixDiagPartV2", "MatrixDiagPartV3")
def matrix_diag_part_v2(d):
    rows, columns = d.int(1, 5), d.int(1, 5)
    low, high, _ = band(d, rows, columns)
    return dict(input=d.T((*d.shape(0, 2), rows, columns)), k=d.i32([low, high] if high > low or d.chance() else low), padding_value=d.T(()))


@cases("MatrixSetDiagV2", "MatrixSetDiagV3")
def matrix_set_diag_v2(d):
    rows, columns, lead = d.int(1, 5), d.int(1, 5), d.shape(0, 2)
    low, high, longest = band(d, rows, columns)
    shape = (*lead, *([high - low + 1] if high > low else []), longest)
    return dict(input=d.T((*lead, rows, columns)), diagonal=d.T(shape), k=d.i32([low, high] if high > low or d.chance() else low))


@cases("BatchToSpace", "SpaceToBatch")
def batch_to_space(d):
    block, h, w = d.int(2, 3), d.int(1, 3), d.int(1, 3)
    crops = [[d.int(0, 1), d.int(0, 1)] for _ in range(2)]
    if d.op == "BatchToSpace":
        return dict(input=d.T((block * block * d.int(1, 2), h, w, d.int(1, 3))), crops=d.index(crops, "Tidx"), block_size=block)
    shape = [d.int(1, 2)] + [n * block - sum(c) for n, c in zip((h, w), crops)] + [d.int(1, 3)]
    return dict(input=d.T(shape), paddings=d.index(crops, "Tpaddings"), block_size=block)


@cases("BatchToSpaceND", "SpaceToBatchND")
def batch_to_space_nd(d):
    d.constants = True
    blocks = [d.int(1, 3) for _ in range(d.int(1, 3))]
    sizes = [d.int(1, 3) for _ in blocks]
    crops = [[d.int(0, 1), d.int(0, 1)] for _ in blocks]
    tail = d.shape(0, 2)
    if d.op == "BatchToSpaceND":
        return dict(input=d.T((int(np.prod(blocks)) * d.int(1, 2), *sizes, *tail)), block_shape=d.index(blocks, "Tblock_shape"), crops=d.index(crops, "Tcrops"))
    shape = (d.int(1, 2), *[max(n * b - sum(c), 0) for n, b, c in zip(sizes, blocks, crops)], *tail)
    return dict(input=d.T(shape), block_shape=d.index(blocks, "Tblock_shape"), paddings=d.index(crops, "Tpaddings"))


@cases("DepthToSpace", "SpaceToDepth")
def depth_to_space(d):
    block, h, w, c = d.int(2, 3), d.int(1, 3), d.int(1, 3), d.int(1, 3)
    shape = (d.int(1, 2), h, w, c * block * block) if d.op == "DepthToSpace" else (d.int(1, 2), h * block, w * block, c)
    return dict(input=d.T(shape), block_size=block, data_format="NHWC")


@cases("ExtractImagePatches")
def extract_image_patches(d):
    size = lambda n: [1, d.int(1, n), d.int(1, n), 1]
    return dict(images=d.T((d.int(1, 2), d.int(3, 7), d.int(3, 7), d.int(1, 3))), ksizes=size(3), strides=size(3), rates=size(2))


@cases("ExtractVolumePatches")
def extract_volume_patches(d):
    size = lambda n: [1, d.int(1, n), d.int(1, n), d.int(1, n), 1]
    return dict(input=d.T((d.int(1, 2), d.int(3, 5), d.int(3, 5), d.int(3, 5), d.int(1, 2))), ksizes=size(3), strides=size(3))


@cases("Bitcast")
def bitcast(d):
    source, target = d.t("T"), d.t("type")
    shape = d.shape(0, 3)
    if target.size > source.size:
        shape += (target.size // source.size,)
    return dict(input=d.T(shape), type=target)


@cases("EnsureShape")
def ensure_shape(d):
    shape = d.shape()
    return dict(input=d.T(shape), shape=tf.TensorShape(None) if d.chance(0.2) else [None if d.chance(0.3) else n for n in shape])


@cases("CheckNumerics", "CheckNumericsV2")
def check_numerics(d):
    return dict(tensor=d.T(d.shape()), message="bad")


@cases("ShapeN", "IdentityN", "Shape", "Size", "Rank", "ZerosLike", "OnesLike", "Identity", "StopGradient", "Snapshot", "DeepCopy", "PreventGradient", "PlaceholderWithDefault")
def alike(d):
    if d.op == "IdentityN":
        return dict(input=[d.of(d.choice(["float32", "int64", "string"]), d.shape()) for _ in range(d.int(1, 3))])
    if d.op == "ShapeN":
        return dict(input=[d.T(d.shape()) for _ in range(d.int(1, 3))])
    name = d.op_def.input_arg[0].name
    given = {name: d.T(d.shape(0, 4), attr=d.op_def.input_arg[0].type_attr)}
    return dict(given, shape=tf.TensorShape(None)) if d.op == "PlaceholderWithDefault" else given


@cases("Const", "HostConst", "Placeholder", "PlaceholderV2", "ImmutableConst", "GuaranteeConst")
def const(d):
    if d.op not in ("Const", "GuaranteeConst"):
        return None
    value = d.of(d.choice(["float32", "int32", "string", "bfloat16", "qint8", "complex64", "bool", "uint64", "float8_e5m2", "float16"]), d.shape())
    return Program(lambda feed: [[tf.constant(value)]], repr(value))


@cases("Copy", "CopyHost", "DebugIdentity", "DebugIdentityV2", "DebugIdentityV3")
def copies(d):
    return dict(input=d.T(d.shape()))
