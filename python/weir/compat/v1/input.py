"""Input pipelines of TensorFlow 1: queues of file names, and queues that make batches."""

from weir import nest
from weir.compat.v1.queues import FIFOQueue, PaddingFIFOQueue, QueueRunner, RandomShuffleQueue, add_queue_runner
from weir.framework import convert_to_tensor, dtypes, raw_ops
from weir.framework.graph import GraphKeys, name_scope
from weir.ops import array, control_flow, random
from weir.variables import VariableV1

__all__ = ["batch", "batch_join", "shuffle_batch", "shuffle_batch_join", "input_producer", "limit_epochs",
           "match_filenames_once", "maybe_batch", "maybe_shuffle_batch", "range_input_producer", "slice_input_producer",
           "string_input_producer"]


def match_filenames_once(pattern, name=None):
    """A local variable with the names of files that match."""
    with name_scope(name or "matching_filenames"):
        return VariableV1(raw_ops.MatchingFiles(pattern=pattern), name="matching_filenames", trainable=False,
                          validate_shape=False, collections=[GraphKeys.LOCAL_VARIABLES])


def limit_epochs(tensor, num_epochs=None, name=None):
    """The tensor, which ends with OutOfRangeError after it was read `num_epochs` times."""
    if num_epochs is None:
        return tensor
    if num_epochs <= 0:
        raise ValueError(f"num_epochs must be > 0 not {num_epochs}.")
    with name_scope(name or "limit_epochs"):
        epochs = VariableV1(convert_to_tensor(0, dtypes.int64), name="epochs", trainable=False,
                            collections=[GraphKeys.LOCAL_VARIABLES])
        counted = epochs.count_up_to(num_epochs)
        from weir.framework.graph import get_default_graph
        with get_default_graph().control_dependencies([counted]):
            return array.identity(tensor)


def input_producer(input_tensor, element_shape=None, num_epochs=None, shuffle=True, seed=None, capacity=32,
                   shared_name=None, summary_name=None, name=None, cancel_op=None):
    """A queue of the rows of a tensor, again and again."""
    with name_scope(name or "input_producer"):
        rows = convert_to_tensor(input_tensor, name="input_tensor")
        shape = rows.shape[1:].merge_with(element_shape) if element_shape is not None else rows.shape[1:]
        if not shape.is_fully_defined():
            raise ValueError("Either `input_tensor` must have a fully defined shape or `element_shape` must be specified")
        if shuffle:
            rows = random.shuffle(rows, seed=seed)
        rows = limit_epochs(rows, num_epochs)
        queue = FIFOQueue(capacity, [rows.dtype.base_dtype], [shape], shared_name=shared_name, name=name or "input_producer")
        add_queue_runner(QueueRunner(queue, [queue.enqueue_many([rows])], cancel_op=cancel_op))
        return queue


def string_input_producer(string_tensor, num_epochs=None, shuffle=True, seed=None, capacity=32, shared_name=None,
                          name=None, cancel_op=None):
    """A queue of strings, file names say."""
    if not hasattr(string_tensor, "dtype") and not string_tensor:
        raise ValueError("string_input_producer requires a non-null input tensor")
    with name_scope(name or "input_producer"):
        strings = convert_to_tensor(string_tensor, dtypes.string)
        return input_producer(strings, [], num_epochs, shuffle, seed, capacity, shared_name, None, name, cancel_op)


def range_input_producer(limit, num_epochs=None, shuffle=True, seed=None, capacity=32, shared_name=None, name=None):
    """A queue of the numbers from 0 to limit-1."""
    with name_scope(name or "input_producer"):
        return input_producer(array.range(limit), [], num_epochs, shuffle, seed, capacity, shared_name, None, name)


def slice_input_producer(tensor_list, num_epochs=None, shuffle=True, seed=None, capacity=32, shared_name=None, name=None):
    """One row of each tensor, chosen by a queue of numbers."""
    with name_scope(name or "input_producer"):
        tensors = [convert_to_tensor(t) for t in tensor_list]
        if not tensors:
            raise ValueError("Expected at least one tensor in slice_input_producer().")
        size = array.shape(tensors[0])[0]
        index = range_input_producer(size, num_epochs, shuffle, seed, capacity, shared_name).dequeue()
        return [array.gather(t, index) for t in tensors]


def _pieces(tensors):
    flat = nest.flatten(tensors)
    return [convert_to_tensor(t) for t in flat]


def _make(tensor_sets, batch_size, make_queue, enqueue_many, keep, allow_smaller, shapes, name):
    """Queues of batches of one or several sources."""
    structure = tensor_sets[0]
    sets = [_pieces(t) for t in tensor_sets]
    first = sets[0]
    if shapes is not None:
        from weir.framework.shapes import as_shape
        element = [as_shape(s) for s in shapes]
    else:
        element = [t.shape[1:] if enqueue_many else t.shape for t in first]
    queue = make_queue([t.dtype.base_dtype for t in first], element)
    enqueues = []
    for tensors in sets:
        if keep is None:
            enqueues.append((queue.enqueue_many if enqueue_many else queue.enqueue)(tensors))
        elif enqueue_many:
            chosen = [array.boolean_mask(t, keep) for t in tensors]
            enqueues.append(queue.enqueue_many(chosen))
        else:
            from weir.compat.v1.graph_ops import group, no_op
            enqueues.append(control_flow.cond(keep, lambda t=tensors: group(queue.enqueue(t)) or no_op(),
                                              no_op))
    add_queue_runner(QueueRunner(queue, enqueues))
    taken = queue.dequeue_up_to(batch_size, name=name) if allow_smaller else queue.dequeue_many(batch_size, name=name)
    taken = taken if isinstance(taken, list) else [taken]
    if isinstance(structure, dict) or isinstance(structure, (list, tuple)) and len(taken) > 1:
        return nest.pack_sequence_as(structure, taken)
    return taken[0]


def _fifo(capacity, dynamic_pad, shared_name):
    def make(types, shapes):
        if dynamic_pad:
            return PaddingFIFOQueue(capacity, types, shapes, shared_name=shared_name)
        return FIFOQueue(capacity, types, shapes, shared_name=shared_name)
    return make


def _shuffling(capacity, min_after_dequeue, seed, shared_name):
    return lambda types, shapes: RandomShuffleQueue(capacity, min_after_dequeue, types, shapes, seed=seed,
                                                    shared_name=shared_name)


def batch(tensors, batch_size, num_threads=1, capacity=32, enqueue_many=False, shapes=None, dynamic_pad=False,
          allow_smaller_final_batch=False, shared_name=None, name=None):
    """Batches of tensors, made by a queue."""
    with name_scope(name or "batch") as scope:
        return _make([tensors] * num_threads, batch_size, _fifo(capacity, dynamic_pad, shared_name), enqueue_many, None,
                     allow_smaller_final_batch, shapes, scope.rstrip("/") + "/" if scope else None)


def maybe_batch(tensors, keep_input, batch_size, num_threads=1, capacity=32, enqueue_many=False, shapes=None,
                dynamic_pad=False, allow_smaller_final_batch=False, shared_name=None, name=None):
    """Batches of those tensors that `keep_input` chooses."""
    with name_scope(name or "batch"):
        return _make([tensors] * num_threads, batch_size, _fifo(capacity, dynamic_pad, shared_name), enqueue_many,
                     convert_to_tensor(keep_input), allow_smaller_final_batch, shapes, None)


def batch_join(tensors_list, batch_size, capacity=32, enqueue_many=False, shapes=None, dynamic_pad=False,
               allow_smaller_final_batch=False, shared_name=None, name=None):
    """Batches of tensors from several sources, one thread for each."""
    with name_scope(name or "batch_join"):
        return _make(list(tensors_list), batch_size, _fifo(capacity, dynamic_pad, shared_name), enqueue_many, None,
                     allow_smaller_final_batch, shapes, None)


def maybe_batch_join(tensors_list, keep_input, batch_size, capacity=32, enqueue_many=False, shapes=None, dynamic_pad=False,
                     allow_smaller_final_batch=False, shared_name=None, name=None):
    """Batches of those tensors, from several sources, that `keep_input` chooses."""
    with name_scope(name or "batch_join"):
        return _make(list(tensors_list), batch_size, _fifo(capacity, dynamic_pad, shared_name), enqueue_many,
                     convert_to_tensor(keep_input), allow_smaller_final_batch, shapes, None)


def shuffle_batch(tensors, batch_size, capacity, min_after_dequeue, num_threads=1, seed=None, enqueue_many=False,
                  shapes=None, allow_smaller_final_batch=False, shared_name=None, name=None):
    """Batches of tensors in random order."""
    with name_scope(name or "shuffle_batch") as scope:
        return _make([tensors] * num_threads, batch_size, _shuffling(capacity, min_after_dequeue, seed, shared_name),
                     enqueue_many, None, allow_smaller_final_batch, shapes, scope.rstrip("/") + "/" if scope else None)


def maybe_shuffle_batch(tensors, batch_size, capacity, min_after_dequeue, keep_input, num_threads=1, seed=None,
                        enqueue_many=False, shapes=None, allow_smaller_final_batch=False, shared_name=None, name=None):
    """Batches, in random order, of those tensors that `keep_input` chooses."""
    with name_scope(name or "shuffle_batch"):
        return _make([tensors] * num_threads, batch_size, _shuffling(capacity, min_after_dequeue, seed, shared_name),
                     enqueue_many, convert_to_tensor(keep_input), allow_smaller_final_batch, shapes, None)


def shuffle_batch_join(tensors_list, batch_size, capacity, min_after_dequeue, seed=None, enqueue_many=False, shapes=None,
                       allow_smaller_final_batch=False, shared_name=None, name=None):
    """Batches in random order from several sources."""
    with name_scope(name or "shuffle_batch_join"):
        return _make(list(tensors_list), batch_size, _shuffling(capacity, min_after_dequeue, seed, shared_name),
                     enqueue_many, None, allow_smaller_final_batch, shapes, None)


def maybe_shuffle_batch_join(tensors_list, batch_size, capacity, min_after_dequeue, keep_input, seed=None,
                             enqueue_many=False, shapes=None, allow_smaller_final_batch=False, shared_name=None, name=None):
    """Batches, in random order, of those tensors from several sources that `keep_input` chooses."""
    with name_scope(name or "shuffle_batch_join"):
        return _make(list(tensors_list), batch_size, _shuffling(capacity, min_after_dequeue, seed, shared_name),
                     enqueue_many, convert_to_tensor(keep_input), allow_smaller_final_batch, shapes, None)
