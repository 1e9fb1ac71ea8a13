"""Programs over things that hold tensors: lists, arrays, maps, tables, queues, accumulators, data sets."""

import os

import numpy as np
import tensorflow as tf

from .draw import Program, cases, skip

raw = tf.raw_ops
v1 = tf.compat.v1


def unique(d):
    """A name that no other case, and no other run on the same server, has."""
    return f"{d.unique}_{os.getpid()}"


@cases("EmptyTensorList", "TensorListReserve", "TensorListFromTensor", "TensorListStack", "TensorListGather", "TensorListGetItem", "TensorListSetItem", "TensorListPushBack", "TensorListPopBack", "TensorListLength", "TensorListElementShape",
       "TensorListConcat", "TensorListConcatV2", "TensorListConcatLists", "TensorListSplit", "TensorListScatter", "TensorListScatterV2", "TensorListScatterIntoExistingList", "TensorListResize", "TensorListPushBackBatch")
def tensor_list(d):
    dtype = d.choice([tf.float32, tf.int64, tf.string, tf.bool])
    shape = d.shape(1 if "Concat" in d.op or d.op == "TensorListSplit" else 0, 2)
    said = np.int32(d.choice([-1, list(shape), [-1] * len(shape)]))
    n = d.int(0, 4)
    log = []

    def build(feed):
        value = lambda *lead: feed(d.of(dtype, (*lead, *shape)))
        i32 = lambda x: feed(np.asarray(x, np.int32))
        start = d.int(0, 3)
        if start == 0:
            items = raw.EmptyTensorList(element_shape=i32(said), max_num_elements=i32(d.choice([-1, -1, 3])), element_dtype=dtype)
        elif start == 1:
            items = raw.TensorListReserve(element_shape=i32(said), num_elements=i32(n), element_dtype=dtype)
        elif start == 2:
            items = raw.TensorListFromTensor(tensor=value(n), element_shape=i32(said))
        else:
            items = raw.TensorListScatterV2(tensor=value(n), indices=i32(d.random.permutation(n)), element_shape=i32(said), num_elements=i32(d.choice([-1, n + 1])))
        log.append(f"start {start} n {n} shape {shape} said {said.tolist()} {dtype.name}")
        fetched, size = [], n if start else 0
        for _ in range(d.int(1, 4)):
            kind = d.int(0, 9)
            log.append(kind)
            if kind == 0:
                items, size = raw.TensorListPushBack(input_handle=items, tensor=value()), size + 1
            elif kind == 1 and size:
                items, popped = raw.TensorListPopBack(input_handle=items, element_shape=i32(said), element_dtype=dtype)
                fetched.append(popped)
                size -= 1
            elif kind == 2 and size:
                items = raw.TensorListSetItem(input_handle=items, index=i32(d.int(0, size - 1)), item=value(), resize_if_index_out_of_bounds=d.chance())
            elif kind == 3 and size:
                fetched.append(raw.TensorListGetItem(input_handle=items, index=i32(d.int(0, size - 1)), element_shape=i32(said), element_dtype=dtype))
            elif kind == 4:
                size = d.int(0, 5)
                items = raw.TensorListResize(input_handle=items, size=i32(size))
            elif kind == 5 and size:
                fetched.append(raw.TensorListGather(input_handle=items, indices=i32(d.random.randint(0, size, d.int(0, 3))), element_shape=i32(shape if d.chance() else said), element_dtype=dtype))
            elif kind == 6:
                more = raw.TensorListFromTensor(tensor=value(2), element_shape=i32(shape if d.chance() else said))
                items, size = raw.TensorListConcatLists(input_a=items, input_b=more, element_dtype=dtype), size + 2
            elif kind == 7 and size:
                items = raw.TensorListScatterIntoExistingList(input_handle=items, tensor=value(1), indices=i32([d.int(0, size - 1)]))
            elif kind == 8 and len(shape):
                fetched.extend(raw.TensorListConcatV2(input_handle=items, element_shape=i32(d.choice([said, [-1, *shape[1:]]])), leading_dims=feed(np.asarray([1] * (size if d.chance(0.3) else 0), np.int64)), element_dtype=dtype))
            elif kind == 9 and len(shape):
                lengths = [d.int(0, 3) for _ in range(3)]
                split = raw.TensorListSplit(tensor=feed(d.of(dtype, (sum(lengths), *shape[1:]))), element_shape=i32(d.choice([-1, [-1, *shape[1:]]])), lengths=feed(np.asarray(lengths, np.int64)))
                fetched.append(raw.TensorListLength(input_handle=split))
                fetched.extend(raw.TensorListConcatV2(input_handle=split, element_shape=i32([-1, *shape[1:]]), leading_dims=feed(np.asarray([], np.int64)), element_dtype=dtype))
        fetched.append(raw.TensorListLength(input_handle=items))
        fetched.append(raw.TensorListElementShape(input_handle=items, shape_type=tf.int32))
        # What was never set is read as zeros, which needs a shape: a step of its own.
        return [fetched, [raw.TensorListStack(input_handle=items, element_shape=i32(shape if d.chance() else said), element_dtype=dtype, num_elements=-1)]]

    return Program(build, log)


@cases("TensorMapInsert", "TensorMapLookup", "TensorMapErase", "TensorMapHasKey", "TensorMapSize", "TensorMapStackKeys", "EmptyTensorMap")
def tensor_map(d):
    def build(feed):
        items, fetched = raw.EmptyTensorMap(), []
        for _ in range(d.int(1, 4)):
            items = raw.TensorMapInsert(input_handle=items, key=feed(np.int32(d.int(0, 3))), value=feed(d.of("float32", d.shape())))
        key = feed(np.int32(d.int(0, 3)))
        fetched += [raw.TensorMapSize(input_handle=items), raw.TensorMapHasKey(input_handle=items, key=key)]
        return [fetched, [raw.TensorMapLookup(input_handle=items, key=key, value_dtype=tf.float32)], [raw.TensorMapSize(input_handle=raw.TensorMapErase(input_handle=items, key=key, value_dtype=tf.float32))]]

    return Program(build)


@cases("TensorArrayV3", "TensorArrayWriteV3", "TensorArrayReadV3", "TensorArrayGatherV3", "TensorArrayScatterV3", "TensorArrayConcatV3", "TensorArraySplitV3", "TensorArraySizeV3", "TensorArrayGradV3", "TensorArrayGradWithShape", "TensorArrayCloseV3")
def tensor_array(d):
    dtype = d.choice([tf.float32, tf.float64, tf.int32])
    shape, n = d.shape(1, 2, zero=0), d.int(1, 4)
    log = []

    def build(feed):
        i32 = lambda x: feed(np.asarray(x, np.int32))
        same = d.chance()
        handle, flow = raw.TensorArrayV3(size=i32(n), dtype=dtype, element_shape=tf.TensorShape(None if d.chance() else shape), dynamic_size=d.chance(), clear_after_read=d.chance(), identical_element_shapes=same)
        start = d.int(0, 2)
        log.append(f"start {start} n {n} shape {shape} {dtype.name}")
        if start == 0:
            for i in d.random.permutation(n + (1 if d.chance(0.2) else 0)):
                flow = raw.TensorArrayWriteV3(handle=handle, index=i32(i), value=feed(d.of(dtype, shape)), flow_in=flow)
        elif start == 1:
            flow = raw.TensorArrayScatterV3(handle=handle, indices=i32(d.random.permutation(n)), value=feed(d.of(dtype, (n, *shape))), flow_in=flow)
        else:
            lengths = [shape[0]] * n if same or d.chance(0.7) else [d.int(0, 3) for _ in range(n)]
            flow = raw.TensorArraySplitV3(handle=handle, value=feed(d.of(dtype, (sum(lengths), *shape[1:]))), lengths=feed(np.asarray(lengths, np.int64)), flow_in=flow)
        kind = d.int(0, 4)
        log.append(kind)
        fetched = [raw.TensorArraySizeV3(handle=handle, flow_in=flow)]
        if kind == 0:
            fetched.append(raw.TensorArrayReadV3(handle=handle, index=i32(d.int(0, n)), flow_in=flow, dtype=dtype))
        elif kind == 1:
            fetched.append(raw.TensorArrayGatherV3(handle=handle, indices=i32(d.random.permutation(n)[: d.int(0, n)]), flow_in=flow, dtype=dtype, element_shape=None))
        elif kind == 2:
            fetched.extend(raw.TensorArrayConcatV3(handle=handle, flow_in=flow, dtype=dtype, element_shape_except0=None))
        elif kind == 3:
            grad, grad_flow = raw.TensorArrayGradV3(handle=handle, flow_in=flow, source="g")
            for _ in range(2):
                grad_flow = raw.TensorArrayWriteV3(handle=grad, index=i32(0), value=feed(d.of(dtype, shape)), flow_in=grad_flow)
            fetched.append(raw.TensorArrayReadV3(handle=grad, index=i32(0), flow_in=grad_flow, dtype=dtype))
            if n > 1 and d.chance():
                fetched.append(raw.TensorArrayReadV3(handle=grad, index=i32(1), flow_in=grad_flow, dtype=dtype))
        else:
            grad, grad_flow = raw.TensorArrayGradWithShape(handle=handle, flow_in=flow, shape_to_prepend=i32([2]), source="g")
            grad_flow = raw.TensorArrayWriteV3(handle=grad, index=i32(0), value=feed(d.of(dtype, (2, *shape))), flow_in=grad_flow)
            fetched.append(raw.TensorArrayReadV3(handle=grad, index=i32(0), flow_in=grad_flow, dtype=dtype))
        return [fetched]

    return Program(build, log)


PAIRS = [(tf.string, tf.int64), (tf.int64, tf.string), (tf.string, tf.float32), (tf.int64, tf.int64), (tf.int64, tf.float32), (tf.int32, tf.int32), (tf.string, tf.string), (tf.string, tf.bool)]


@cases("HashTableV2", "InitializeTableV2", "LookupTableFindV2", "LookupTableSizeV2", "LookupTableInsertV2", "LookupTableRemoveV2", "LookupTableExportV2", "LookupTableImportV2", "MutableHashTableV2", "MutableHashTableOfTensorsV2", "MutableDenseHashTableV2")
def table(d):
    key, value = d.choice(PAIRS)
    shape = d.shape(0, 1, zero=0) if d.chance(0.4) else ()
    kind = d.int(0, 3)
    log = [kind, key.name, value.name, shape]

    def keys(n):
        if key == tf.string:
            return np.asarray([b"k%d" % x for x in d.random.permutation(6)[:n]], object)
        return d.random.permutation(6)[:n].astype(key.as_numpy_dtype)

    def build(feed):
        common = dict(key_dtype=key, value_dtype=value, shared_name=unique(d))
        of = () if kind < 2 else shape
        if kind == 0:
            handle = raw.HashTableV2(**common)
        elif kind == 1:
            handle = raw.MutableHashTableV2(**common)
        elif kind == 2:
            handle = raw.MutableHashTableOfTensorsV2(value_shape=shape, **common)
        else:
            special = (np.asarray(b"empty", object), np.asarray(b"deleted", object)) if key == tf.string else (np.asarray(-1, key.as_numpy_dtype), np.asarray(-2, key.as_numpy_dtype))
            handle = raw.MutableDenseHashTableV2(empty_key=feed(special[0]), deleted_key=feed(special[1]), value_shape=shape, initial_num_buckets=4, **common)
        steps = []
        n = d.int(1, 5)
        chosen = keys(n)
        if d.chance(0.1):
            chosen = np.concatenate([chosen, chosen[:1]])
        values = d.of(value, (len(chosen), *of))
        if kind == 0:
            steps.append([raw.InitializeTableV2(table_handle=handle, keys=feed(chosen), values=feed(values))])
        else:
            steps.append([d.choice([raw.LookupTableInsertV2, raw.LookupTableInsertV2, raw.LookupTableImportV2])(table_handle=handle, keys=feed(chosen), values=feed(values))])
            if d.chance():
                gone = keys(d.int(0, 3))
                steps.append([raw.LookupTableRemoveV2(table_handle=handle, keys=feed(gone))])
            if d.chance(0.3):
                again = keys(2)
                steps.append([raw.LookupTableInsertV2(table_handle=handle, keys=feed(again), values=feed(d.of(value, (2, *of))))])
        default = d.of(value, of)
        asked = keys(d.int(0, 5))
        steps.append([raw.LookupTableFindV2(table_handle=handle, keys=feed(asked.reshape(1, -1) if d.chance(0.3) else asked), default_value=feed(default)), raw.LookupTableSizeV2(table_handle=handle)])
        exported = raw.LookupTableExportV2(table_handle=handle, Tkeys=key, Tvalues=value)
        order = tf.argsort(exported[0]) if key != tf.string else tf.argsort(tf.strings.to_hash_bucket_fast(exported[0], 2**40))
        if kind != 3 or True:
            steps.append([tf.gather(exported[0], order), tf.gather(exported[1], order)])
        return steps

    return Program(build, log)


@cases("FIFOQueueV2", "PaddingFIFOQueueV2", "PriorityQueueV2", "RandomShuffleQueueV2", "QueueEnqueueV2", "QueueEnqueueManyV2", "QueueDequeueV2", "QueueDequeueManyV2", "QueueDequeueUpToV2", "QueueCloseV2", "QueueIsClosedV2", "QueueSizeV2")
def queue(d):
    types = [d.choice([tf.float32, tf.int64, tf.string]) for _ in range(d.int(1, 2))]
    shapes = [d.shape(0, 2, zero=0) for _ in types]
    kind = d.op if d.op.endswith("QueueV2") else d.choice(["FIFOQueueV2", "PaddingFIFOQueueV2", "PriorityQueueV2", "RandomShuffleQueueV2"])
    log = [kind, types, shapes]

    def build(feed):
        common = dict(capacity=d.choice([-1, 20, 8]), shared_name=unique(d))
        known = d.chance(0.8) or kind in ("PaddingFIFOQueueV2", "PriorityQueueV2")
        if kind == "PaddingFIFOQueueV2":
            handle = raw.PaddingFIFOQueueV2(component_types=types, shapes=[[None] * len(s) for s in shapes], **common)
        elif kind == "PriorityQueueV2":
            handle = raw.PriorityQueueV2(component_types=types, shapes=shapes, **common)
        elif kind == "RandomShuffleQueueV2":
            handle = raw.RandomShuffleQueueV2(component_types=types, shapes=shapes if known else [], seed=d.int(1, 9), seed2=d.int(1, 9), min_after_dequeue=d.choice([0, 0, 1]), **common)
        else:
            handle = raw.FIFOQueueV2(component_types=types, shapes=shapes if known else [], **common)
        steps, size, closed = [], 0, False
        lead = [tf.int64] if kind == "PriorityQueueV2" else []

        def item(many=None):
            made = []
            for t, s in zip(types, shapes):
                grown = tuple(d.int(1, 3) for _ in s) if kind == "PaddingFIFOQueueV2" else s
                if d.chance(0.03):
                    grown = (*grown, 2)
                made.append(feed(d.of(t, grown if many is None else (many, *grown))))
            return ([feed(d.of("int64", () if many is None else (many,), 0, 9))] if lead else []) + made

        for _ in range(d.int(2, 7)):
            action = d.int(0, 6)
            log.append(action)
            if action in (0, 1) and size < 5 and not closed:
                steps.append([raw.QueueEnqueueV2(handle=handle, components=item())])
                size += 1
            elif action == 2 and size < 4 and not closed:
                n = d.int(0, 3)
                steps.append([raw.QueueEnqueueManyV2(handle=handle, components=item(n))])
                size += n
            elif action == 3 and size > 1:
                steps.append([raw.QueueDequeueV2(handle=handle, component_types=lead + types)])
                size -= 1
            elif action == 4 and size > 1:
                n = d.int(0, size - 1)
                steps.append([raw.QueueDequeueManyV2(handle=handle, n=feed(np.int32(n)), component_types=lead + types)])
                size -= n
            elif action == 5:
                steps.append([raw.QueueSizeV2(handle=handle), raw.QueueIsClosedV2(handle=handle)])
            elif action == 6 and d.chance(0.4) and not closed:
                closed = True
                steps.append([raw.QueueCloseV2(handle=handle)])
                steps.append([raw.QueueDequeueUpToV2(handle=handle, n=feed(np.int32(size + 2)), component_types=lead + types)])
                size = 0
                steps.append([raw.QueueDequeueV2(handle=handle, component_types=lead + types)] if d.chance() else [raw.QueueEnqueueV2(handle=handle, components=item())])
                break
        return steps or [[raw.QueueSizeV2(handle=handle)]]

    return Program(build, log)


@cases("ConditionalAccumulator", "ResourceConditionalAccumulator", "AccumulatorApplyGradient", "AccumulatorTakeGradient", "AccumulatorNumAccumulated", "AccumulatorSetGlobalStep", "ResourceAccumulatorApplyGradient", "ResourceAccumulatorTakeGradient", "ResourceAccumulatorNumAccumulated", "ResourceAccumulatorSetGlobalStep")
def accumulator(d):
    dtype = d.choice([tf.float32, tf.float64])
    shape = d.shape(0, 2, zero=0)
    prefix = "Resource" if d.op.startswith("Resource") else ""
    log = []

    def build(feed):
        handle = getattr(raw, prefix + "ConditionalAccumulator")(dtype=dtype, shape=shape if d.chance() else None, reduction_type=d.choice(["MEAN", "SUM"]), shared_name=unique(d))
        call = lambda name, **kw: getattr(raw, f"{prefix}Accumulator{name}")(handle=handle, **kw)
        steps, held = [], 0
        for _ in range(d.int(1, 6)):
            action = d.int(0, 4)
            log.append(action)
            if action < 3:
                given = shape if d.chance(0.95) else (*shape, 2)
                step = d.int(0, 2)
                steps.append([call("ApplyGradient", local_step=feed(np.int64(step)), gradient=feed(d.of(dtype, given)))])
            elif action == 3:
                steps.append([call("SetGlobalStep", new_global_step=feed(np.int64(d.int(0, 2))))])
            steps.append([call("NumAccumulated")])
        fresh = feed(np.int64(99))
        steps.append([call("ApplyGradient", local_step=fresh, gradient=feed(d.of(dtype, shape)))])
        steps.append([call("TakeGradient", num_required=feed(np.int32(1)), dtype=dtype)])
        steps.append([call("NumAccumulated")])
        return steps

    return Program(build, log)


@cases("SparseConditionalAccumulator", "SparseAccumulatorApplyGradient", "SparseAccumulatorTakeGradient")
def sparse_accumulator(d):
    shape = (4, *d.shape(0, 1, zero=0))
    log = []

    def build(feed):
        known = d.chance()
        handle = raw.SparseConditionalAccumulator(dtype=tf.float32, shape=shape if known else None, reduction_type=d.choice(["MEAN", "SUM"]), shared_name=unique(d))
        steps = []
        for _ in range(d.int(1, 4)):
            rows = np.sort(d.random.permutation(4)[: d.int(0, 3)])
            steps.append([raw.SparseAccumulatorApplyGradient(handle=handle, local_step=feed(np.int64(d.int(0, 1))), gradient_indices=feed(rows.astype(np.int64)), gradient_values=feed(d.of("float32", (len(rows), *shape[1:]))), gradient_shape=feed(np.asarray(shape if d.chance() else [], np.int64)), has_known_shape=d.chance())])
            log.append(rows.tolist())
        steps.append([raw.SparseAccumulatorTakeGradient(handle=handle, num_required=feed(np.int32(1)), dtype=tf.float32)])
        return steps

    return Program(build, log)


DATASETS = """BatchDatasetV2 ConcatenateDataset FilterDataset FlatMapDataset InterleaveDataset MapDataset PaddedBatchDatasetV2 ParallelMapDatasetV2 PrefetchDataset RangeDataset
RepeatDataset ScanDataset ShardDataset ShuffleDatasetV3 SkipDataset TakeDataset TakeWhileDataset TensorDataset TensorSliceDataset UnbatchDataset UniqueDataset WindowDataset ZipDataset
SlidingWindowDataset GroupByWindowDataset CacheDatasetV2 ReduceDataset RebatchDataset RebatchDatasetV2 SparseTensorSliceDataset DenseToSparseBatchDataset IteratorGetNext DatasetCardinality""".split()


@cases(*DATASETS)
def dataset(d):
    log = []

    def build(feed):
        data = tf.data.Dataset
        n = d.int(0, 9)
        start = d.int(0, 3)
        log.append(f"start {start} n {n}")
        if start == 0:
            made = data.range(d.int(-3, 3), n, d.choice([1, 2, -1, 3]))
        elif start == 1:
            made = data.from_tensor_slices(d.of("int64", (n,), -9, 9))
        elif start == 2:
            made = data.from_tensors(np.int64(d.int(0, 9)))
        else:
            made = data.range(n)
        for _ in range(d.int(1, 4)):
            kind = d.int(0, 19)
            k = d.int(1, 4)
            log.append((kind, k))
            scalar = made.element_spec.shape.rank == 0
            if kind == 0:
                made = made.batch(k, drop_remainder=d.chance())
            elif kind == 1:
                made = made.concatenate(made.map(lambda x: x + 1))
            elif kind == 2:
                made = made.filter(lambda x: tf.reduce_sum(x) % 2 == 0)
            elif kind == 3 and scalar:
                made = made.flat_map(lambda x: tf.data.Dataset.range(x % 3))
            elif kind == 4 and scalar:
                made = made.interleave(lambda x: tf.data.Dataset.range(x % 4), cycle_length=k, block_length=d.int(1, 2))
            elif kind == 5:
                made = made.map(lambda x: x * 2)
            elif kind == 6 and scalar:
                made = made.map(lambda x: tf.fill([x % 4 + tf.constant(0, tf.int64)], x)).padded_batch(k, padded_shapes=[None])
            elif kind == 7:
                made = made.map(lambda x: x - 1, num_parallel_calls=2)
            elif kind == 8:
                made = made.prefetch(k)
            elif kind == 9:
                made = made.repeat(d.int(0, 3))
            elif kind == 10:
                made = made.scan(np.int64(0), lambda s, x: (s + tf.reduce_sum(x), x + s))
            elif kind == 11:
                made = made.shard(k, d.int(0, k - 1))
            elif kind == 12:
                made = made.shuffle(k, seed=d.int(1, 99), reshuffle_each_iteration=d.chance())
            elif kind == 13:
                made = made.skip(d.int(-1, 4))
            elif kind == 14:
                made = made.take(d.int(-1, 4))
            elif kind == 15:
                made = made.take_while(lambda x: tf.reduce_sum(x) < 5)
            elif kind == 16 and scalar:
                made = made.unique()
            elif kind == 17:
                made = made.window(k, d.int(1, 3), d.int(1, 2), d.chance()).flat_map(lambda w: w.batch(5))
            elif kind == 18:
                made = tf.data.Dataset.zip((made, made.skip(1))).map(lambda a, b: a + b if a.shape == b.shape else a)
            elif kind == 19 and scalar:
                made = made.group_by_window(lambda x: x % 2, lambda key, w: w.batch(3), k)
        iterator = v1.data.make_one_shot_iterator(made)
        element = iterator.get_next()
        return [[raw.DatasetCardinality(input_dataset=made._variant_tensor)]] + [[element] for _ in range(8)]

    return Program(build, log)


skip("their handles are made by the server", "HashTable", "MutableHashTable", "MutableHashTableOfTensors", "MutableDenseHashTable", "WholeFileReader", "Stack", "FIFOQueue", "PaddingFIFOQueue", "PriorityQueue", "RandomShuffleQueue")
skip("TensorFlow has a kernel for it that always fails", "AnonymousRandomSeedGenerator")
