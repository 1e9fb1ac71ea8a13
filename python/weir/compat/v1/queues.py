"""Queues, readers of files over queues, and QueueRunner: threads that keep a queue full."""

import threading
import weakref


from weir.framework import as_dtype, convert_to_tensor, dtypes, errors, protos, raw_ops
from weir.framework.graph import GraphKeys, get_default_graph, name_scope
from weir.framework.shapes import TensorShape, as_shape

__all__ = ["QueueBase", "FIFOQueue", "RandomShuffleQueue", "PaddingFIFOQueue", "PriorityQueue", "ReaderBase",
           "WholeFileReader", "TextLineReader", "TFRecordReader", "FixedLengthRecordReader", "IdentityReader",
           "QueueRunner", "add_queue_runner", "start_queue_runners"]


class QueueBase:
    """A queue of tuples of tensors."""

    def __init__(self, dtypes, shapes, names, queue_ref):  # pylint: disable=redefined-outer-name
        self._dtypes = dtypes
        self._shapes = shapes
        self._names = names
        self._queue_ref = queue_ref

    queue_ref = property(lambda self: self._queue_ref)
    dtypes = property(lambda self: self._dtypes)
    shapes = property(lambda self: self._shapes)
    names = property(lambda self: self._names)

    @property
    def name(self):
        return self._queue_ref.op.name if hasattr(self._queue_ref, "op") else "queue"

    def _flat(self, values, name="enqueue"):
        if isinstance(values, dict):
            if not self._names:
                raise ValueError("Queue must have names to enqueue a dictionary")
            if sorted(self._names) != sorted(values):
                raise ValueError(f"Keys in dictionary to enqueue do not match names of Queue. Dictionary: "
                                 f"{sorted(values)}, Queue: {sorted(self._names)}")
            values = [values[key] for key in self._names]
        else:
            if self._names:
                raise ValueError("You must enqueue a dictionary in a Queue with names")
            if not isinstance(values, (list, tuple)):
                values = [values]
        if len(values) != len(self._dtypes):
            raise ValueError(f"Expected {len(self._dtypes)} components, got {len(values)}")
        return [convert_to_tensor(v, d) for v, d in zip(values, self._dtypes)]

    def _result(self, tensors):
        if self._names:
            return dict(zip(self._names, tensors))
        return tensors[0] if len(tensors) == 1 else list(tensors)

    def _shaped(self, tensors, count):
        for tensor, shape in zip(tensors, self._shapes or []):
            if hasattr(tensor, "op"):
                tensor.set_shape(shape if count is None else TensorShape([count or None]).concatenate(shape))
        return tensors

    def enqueue(self, vals, name=None):
        """Adds one element."""
        with name_scope(name or f"{self.name}_enqueue"):
            values = self._flat(vals)
            for value, shape in zip(values, self._shapes or []):
                value.shape.assert_is_compatible_with(shape)
            return raw_ops.QueueEnqueueV2(handle=self._queue_ref, components=values)

    def enqueue_many(self, vals, name=None):
        """Adds as many elements as the values have rows."""
        with name_scope(name or f"{self.name}_EnqueueMany"):
            return raw_ops.QueueEnqueueManyV2(handle=self._queue_ref, components=self._flat(vals))

    def _list(self, value):
        return list(value) if isinstance(value, (list, tuple)) else [value]

    def dequeue(self, name=None):
        """Takes one element."""
        taken = self._list(raw_ops.QueueDequeueV2(handle=self._queue_ref, component_types=self._dtypes,
                                                  name=name or f"{self.name}_Dequeue"))
        return self._result(self._shaped(taken, None))

    def dequeue_many(self, n, name=None):
        """Takes `n` elements, which become the rows of the tensors."""
        taken = self._list(raw_ops.QueueDequeueManyV2(handle=self._queue_ref, n=n, component_types=self._dtypes,
                                                      name=name or f"{self.name}_DequeueMany"))
        return self._result(self._shaped(taken, n if isinstance(n, int) else 0))

    def dequeue_up_to(self, n, name=None):
        """Takes up to `n` elements: fewer when the queue is closed."""
        taken = self._list(raw_ops.QueueDequeueUpToV2(handle=self._queue_ref, n=n, component_types=self._dtypes,
                                                      name=name or f"{self.name}_DequeueUpTo"))
        return self._result(self._shaped(taken, 0))

    def close(self, cancel_pending_enqueues=False, name=None):
        return raw_ops.QueueCloseV2(handle=self._queue_ref, cancel_pending_enqueues=cancel_pending_enqueues,
                                    name=name or f"{self.name}_Close")

    def is_closed(self, name=None):
        return raw_ops.QueueIsClosedV2(handle=self._queue_ref, name=name)

    def size(self, name=None):
        return raw_ops.QueueSizeV2(handle=self._queue_ref, name=name or f"{self.name}_Size")

    @staticmethod
    def from_list(index, queues):
        if not queues or not isinstance(queues, list) or not all(isinstance(q, QueueBase) for q in queues):
            raise TypeError("A list of queues expected")
        first = queues[0]
        handle = raw_ops.GatherV2(params=raw_ops.Pack(values=[q.queue_ref for q in queues]), indices=index, axis=0)
        return QueueBase(first.dtypes, first.shapes, first.names, handle)


def _lists(kinds, shapes, names):
    kinds = [as_dtype(d) for d in (kinds if isinstance(kinds, (list, tuple)) else [kinds])]
    if shapes is not None:
        if isinstance(shapes, (TensorShape, int)) or (isinstance(shapes, (list, tuple)) and len(kinds) == 1 and not any(
                isinstance(s, (list, tuple, TensorShape)) for s in shapes)):
            shapes = [shapes]
        shapes = [as_shape(s) for s in shapes]
        if len(shapes) != len(kinds):
            raise ValueError("Queue shapes must have the same length as dtypes, received %d shapes, %d dtypes" % (
                len(shapes), len(kinds)))
    if names is not None:
        names = [names] if isinstance(names, str) else list(names)
    return kinds, shapes, names


class FIFOQueue(QueueBase):
    """Elements come out in the order in which they went in."""

    def __init__(self, capacity, dtypes, shapes=None, names=None, shared_name=None, name="fifo_queue"):  # pylint: disable=redefined-outer-name
        kinds, shapes, names = _lists(dtypes, shapes, names)
        handle = raw_ops.FIFOQueueV2(component_types=kinds, shapes=shapes or [], capacity=capacity,
                                     shared_name=shared_name or "", name=name)
        super().__init__(kinds, shapes, names, handle)


class RandomShuffleQueue(QueueBase):
    """Elements come out in random order; `min_after_dequeue` stay in."""

    def __init__(self, capacity, min_after_dequeue, dtypes, shapes=None, names=None, seed=None, shared_name=None,  # pylint: disable=redefined-outer-name
                 name="random_shuffle_queue"):
        kinds, shapes, names = _lists(dtypes, shapes, names)
        from weir.ops.random import _op_seeds
        handle = raw_ops.RandomShuffleQueueV2(component_types=kinds, shapes=shapes or [], capacity=capacity,
                                              min_after_dequeue=min_after_dequeue, shared_name=shared_name or "",
                                              name=name, **_op_seeds(seed))
        super().__init__(kinds, shapes, names, handle)


class PaddingFIFOQueue(QueueBase):
    """Elements of different sizes, padded when several are taken."""

    def __init__(self, capacity, dtypes, shapes, names=None, shared_name=None, name="padding_fifo_queue"):  # pylint: disable=redefined-outer-name
        kinds, shapes, names = _lists(dtypes, shapes, names)
        handle = raw_ops.PaddingFIFOQueueV2(component_types=kinds, shapes=shapes or [], capacity=capacity,
                                            shared_name=shared_name or "", name=name)
        super().__init__(kinds, shapes, names, handle)


class PriorityQueue(QueueBase):
    """Elements with the smallest number, their first part, come out first."""

    def __init__(self, capacity, types, shapes=None, names=None, shared_name=None, name="priority_queue"):
        kinds, shapes, names = _lists(types, shapes, names)
        handle = raw_ops.PriorityQueueV2(component_types=kinds, shapes=shapes or [], capacity=capacity,
                                         shared_name=shared_name or "", name=name)
        super().__init__([dtypes.int64] + kinds, [TensorShape([])] + shapes if shapes else None, names, handle)


class ReaderBase:
    """Reads records of the files whose names a queue holds."""

    def __init__(self, reader_ref, supports_serialize=False):
        self._reader_ref, self._serializes = reader_ref, supports_serialize

    reader_ref = property(lambda self: self._reader_ref)
    supports_serialize = property(lambda self: self._serializes)

    @staticmethod
    def _queue(queue):
        return queue.queue_ref if isinstance(queue, QueueBase) else queue

    def read(self, queue, name=None):
        """The next record: its key and value."""
        return raw_ops.ReaderReadV2(reader_handle=self._reader_ref, queue_handle=self._queue(queue), name=name)

    def read_up_to(self, queue, num_records, name=None):
        return raw_ops.ReaderReadUpToV2(reader_handle=self._reader_ref, queue_handle=self._queue(queue),
                                        num_records=num_records, name=name)

    def num_records_produced(self, name=None):
        return raw_ops.ReaderNumRecordsProducedV2(reader_handle=self._reader_ref, name=name)

    def num_work_units_completed(self, name=None):
        return raw_ops.ReaderNumWorkUnitsCompletedV2(reader_handle=self._reader_ref, name=name)

    def serialize_state(self, name=None):
        return raw_ops.ReaderSerializeStateV2(reader_handle=self._reader_ref, name=name)

    def restore_state(self, state, name=None):
        return raw_ops.ReaderRestoreStateV2(reader_handle=self._reader_ref, state=state, name=name)

    def reset(self, name=None):
        return raw_ops.ReaderResetV2(reader_handle=self._reader_ref, name=name)


class WholeFileReader(ReaderBase):
    def __init__(self, name=None):
        super().__init__(raw_ops.WholeFileReaderV2(name=name), True)


class TextLineReader(ReaderBase):
    def __init__(self, skip_header_lines=None, name=None):
        super().__init__(raw_ops.TextLineReaderV2(skip_header_lines=skip_header_lines or 0, name=name))


class TFRecordReader(ReaderBase):
    def __init__(self, name=None, options=None):
        super().__init__(raw_ops.TFRecordReaderV2(compression_type=getattr(options, "compression_type", "") or "",
                                                  name=name))


class FixedLengthRecordReader(ReaderBase):
    def __init__(self, record_bytes, header_bytes=None, footer_bytes=None, hop_bytes=None, name=None, encoding=None):
        super().__init__(raw_ops.FixedLengthRecordReaderV2(
            record_bytes=record_bytes, header_bytes=header_bytes or 0, footer_bytes=footer_bytes or 0,
            hop_bytes=hop_bytes or 0, encoding=encoding or "", name=name))


class IdentityReader(ReaderBase):
    def __init__(self, name=None):
        super().__init__(raw_ops.IdentityReaderV2(name=name), True)


class QueueRunner:
    """Threads that run operations which fill a queue, until it is closed."""

    def __init__(self, queue=None, enqueue_ops=None, close_op=None, cancel_op=None,
                 queue_closed_exception_types=None, queue_runner_def=None, import_scope=None):
        self._lock = threading.Lock()
        self._running = weakref.WeakKeyDictionary()
        self._raised = []
        if queue_runner_def is not None:
            graph, prefix = get_default_graph(), import_scope + "/" if import_scope else ""
            self._queue = graph.as_graph_element(prefix + queue_runner_def.queue_name)
            self._name = queue_runner_def.queue_name
            self._enqueue_ops = [graph.as_graph_element(prefix + n) for n in queue_runner_def.enqueue_op_name]
            self._close_op = graph.as_graph_element(prefix + queue_runner_def.close_op_name)
            self._cancel_op = graph.as_graph_element(prefix + queue_runner_def.cancel_op_name)
            self._closed_errors = (errors.OutOfRangeError,)
            return
        if not queue or not enqueue_ops:
            raise ValueError("Must provide queue and enqueue_ops.")
        self._queue, self._enqueue_ops = queue, list(enqueue_ops)
        self._name = queue.name
        self._close_op = queue.close() if close_op is None else close_op
        self._cancel_op = queue.close(cancel_pending_enqueues=True) if cancel_op is None else cancel_op
        self._closed_errors = tuple(queue_closed_exception_types or (errors.OutOfRangeError,))

    queue = property(lambda self: self._queue)
    enqueue_ops = property(lambda self: self._enqueue_ops)
    close_op = property(lambda self: self._close_op)
    cancel_op = property(lambda self: self._cancel_op)
    queue_closed_exception_types = property(lambda self: self._closed_errors)
    exceptions_raised = property(lambda self: self._raised)
    name = property(lambda self: self._name)

    def _run(self, sess, enqueue_op, coord):
        try:
            while not (coord and coord.should_stop()):
                try:
                    sess.run(enqueue_op)
                except self._closed_errors:
                    with self._lock:
                        self._running[sess] -= 1
                        last = self._running[sess] == 0
                    if last:
                        try:
                            sess.run(self._close_op)
                        except Exception:  # the queue may be closed already
                            pass
                    return
        except Exception as error:  # pylint: disable=broad-except
            if coord and coord.should_stop():
                pass  # the session was closed meanwhile
            elif coord:
                coord.request_stop(error)
            else:
                with self._lock:
                    self._raised.append(error)
                raise
        with self._lock:
            self._running[sess] -= 1

    def _close_on_stop(self, sess, coord):
        coord.wait_for_stop()
        try:
            sess.run(self._cancel_op)
        except Exception:  # the session may be closed already
            pass

    def create_threads(self, sess, coord=None, daemon=False, start=False):
        """One thread for each operation, and one that closes the queue when the coordinator stops."""
        with self._lock:
            if self._running.get(sess, 0) > 0:
                return []
            self._running[sess] = len(self._enqueue_ops)
            self._raised = []
        threads = [threading.Thread(target=self._run, args=(sess, op, coord), name=f"QueueRunnerThread-{self._name}")
                   for op in self._enqueue_ops]
        if coord:
            threads.append(threading.Thread(target=self._close_on_stop, args=(sess, coord),
                                            name=f"QueueRunnerThread-{self._name}-close_on_stop"))
        for thread in threads:
            if coord:
                coord.register_thread(thread)
            thread.daemon = daemon
            if start:
                thread.start()
        return threads

    def to_proto(self, export_scope=None):
        made = protos.message("QueueRunnerDef")(
            queue_name=self._name, close_op_name=self._close_op.name, cancel_op_name=self._cancel_op.name)
        made.enqueue_op_name.extend(op.name for op in self._enqueue_ops)
        made.queue_closed_exception_types.append(11)
        return made

    @staticmethod
    def from_proto(queue_runner_def, import_scope=None):
        return QueueRunner(queue_runner_def=queue_runner_def, import_scope=import_scope)


def add_queue_runner(qr, collection=GraphKeys.QUEUE_RUNNERS):
    """Puts a queue runner where start_queue_runners finds it."""
    get_default_graph().add_to_collection(collection, qr)


def start_queue_runners(sess=None, coord=None, daemon=True, start=True, collection=GraphKeys.QUEUE_RUNNERS):
    """Starts all queue runners of the graph; gives their threads."""
    from weir.compat.v1.session import get_default_session
    sess = sess or get_default_session()
    if sess is None:
        raise ValueError("Cannot start queue runners: No default session is registered. Use `with sess.as_default()` or "
                         "pass an explicit session to tf.start_queue_runners(sess=sess)")
    with sess.graph.as_default():
        return [thread for runner in sess.graph.get_collection(collection)
                for thread in runner.create_threads(sess, coord=coord, daemon=daemon, start=start)]


for _class in (QueueBase, FIFOQueue, RandomShuffleQueue, PaddingFIFOQueue, PriorityQueue):
    _class.__module__ = "tensorflow.python.ops.data_flow_ops"
