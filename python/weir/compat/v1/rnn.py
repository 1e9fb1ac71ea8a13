"""compat.v1.nn.dynamic_rnn and its kin: cells unrolled over time.

A cell is an object with `state_size`, `output_size` and `__call__(inputs, state) -> (outputs, state)`, such as those of
Keras or one's own.
"""

import weir as tf
from weir import nest

__all__ = ["dynamic_rnn", "bidirectional_dynamic_rnn", "static_rnn", "static_bidirectional_rnn", "static_state_saving_rnn",
           "raw_rnn"]


def _zero_state(cell, batch, dtype):
    if hasattr(cell, "zero_state"):
        return cell.zero_state(batch, dtype)
    if getattr(cell, "get_initial_state", None) is not None:
        try:
            return cell.get_initial_state(inputs=None, batch_size=batch, dtype=dtype)
        except TypeError:
            return cell.get_initial_state(batch_size=batch)

    def zeros(size):
        dims = size.as_list() if isinstance(size, tf.TensorShape) else list(size) if isinstance(size, (list, tuple)) else [size]
        made = tf.zeros(tf.stack([batch, *dims]), dtype)
        made.set_shape([tf.get_static_value(batch) if not isinstance(batch, int) else batch, *dims])
        return made
    return nest.map_structure(zeros, cell.state_size)


def _swap(x):
    return tf.transpose(x, [1, 0, *range(2, x.shape.rank)])


def _batch_size(x, axis):
    return x.shape[axis] if x.shape[axis] is not None else tf.shape(x)[axis]


def _select(keep, new, old):
    """new where keep, else old, row by row."""
    def one(n, o):
        mask = tf.reshape(keep, [-1] + [1] * (n.shape.rank - 1))
        return tf.where(mask, n, o)
    return nest.map_structure(one, new, old)


def dynamic_rnn(cell, inputs, sequence_length=None, initial_state=None, dtype=None, parallel_iterations=None,
                swap_memory=False, time_major=False, scope=None):
    """(outputs, last state) of a cell over [batch, time, ...] inputs (or time first).

    Beyond the length of a sequence outputs are zeros and the state stays as it was.
    """
    with tf.compat.v1.variable_scope(scope or "rnn") as inner:
        inputs = nest.map_structure(tf.convert_to_tensor, inputs)
        if not time_major:
            inputs = nest.map_structure(_swap, inputs)
        first = nest.flatten(inputs)[0]
        steps, batch = _batch_size(first, 0), _batch_size(first, 1)
        if sequence_length is not None:
            sequence_length = tf.cast(sequence_length, tf.int32)
        if initial_state is None:
            if dtype is None:
                raise ValueError("If there is no initial_state, you must give a dtype.")
            state = _zero_state(cell, batch, dtype)
        else:
            state = initial_state
        # One step outside of the loop makes the cell's variables and tells the structure of outputs.
        arrays = [tf.TensorArray(x.dtype, size=steps).unstack(x) for x in nest.flatten(inputs)]

        def step(time, state):
            now = nest.pack_sequence_as(inputs, [a.read(time) for a in arrays])
            for part, whole in zip(nest.flatten(now), nest.flatten(inputs)):
                part.set_shape(whole.shape[1:])
            output, new_state = cell(now, state)
            state_parts = nest.flatten(state)
            new_state = nest.pack_sequence_as(state, nest.flatten(new_state))
            if sequence_length is not None:
                active = time < sequence_length
                output = _select(active, output, nest.map_structure(tf.zeros_like, output))
                new_state = _select(active, new_state, state)
            for part, before in zip(nest.flatten(new_state), state_parts):
                part.set_shape(before.shape)
            return output, new_state

        first_output, first_state = step(tf.constant(0), state)
        inner.reuse_variables()
        outputs = [tf.TensorArray(o.dtype, size=steps, element_shape=o.shape).write(0, o)
                   for o in nest.flatten(first_output)]

        def body(time, state, outputs):
            output, state = step(time, state)
            return time + 1, state, [a.write(time, o) for a, o in zip(outputs, nest.flatten(output))]
        _, last, outputs = tf.while_loop(lambda time, *_: time < steps, body, [tf.constant(1), first_state, outputs],
                                         parallel_iterations=parallel_iterations or 32, swap_memory=swap_memory)
        stacked = []
        for a, o in zip(outputs, nest.flatten(first_output)):
            whole = a.stack()
            whole.set_shape(tf.TensorShape([first.shape[0]]).concatenate(o.shape))
            stacked.append(whole if time_major else _swap(whole))
        return nest.pack_sequence_as(first_output, stacked), last


def bidirectional_dynamic_rnn(cell_fw, cell_bw, inputs, sequence_length=None, initial_state_fw=None, initial_state_bw=None,
                              dtype=None, parallel_iterations=None, swap_memory=False, time_major=False, scope=None):
    """((forward outputs, backward outputs), (forward state, backward state))."""
    time, batch = (0, 1) if time_major else (1, 0)

    def reverse(x):
        if sequence_length is None:
            return tf.reverse(x, axis=[time])
        return tf.reverse_sequence(x, sequence_length, seq_axis=time, batch_axis=batch)
    with tf.compat.v1.variable_scope(scope or "bidirectional_rnn"):
        with tf.compat.v1.variable_scope("fw") as inner:
            forward, forward_state = dynamic_rnn(cell_fw, inputs, sequence_length, initial_state_fw, dtype,
                                                 parallel_iterations, swap_memory, time_major, scope=inner)
        with tf.compat.v1.variable_scope("bw") as inner:
            backward, backward_state = dynamic_rnn(cell_bw, nest.map_structure(reverse, inputs), sequence_length,
                                                   initial_state_bw, dtype, parallel_iterations, swap_memory, time_major,
                                                   scope=inner)
    return (forward, nest.map_structure(reverse, backward)), (forward_state, backward_state)


def static_rnn(cell, inputs, initial_state=None, dtype=None, sequence_length=None, scope=None):
    """([output of each step], last state) of a cell over a list of inputs."""
    if not isinstance(inputs, (list, tuple)):
        raise TypeError(f"inputs must be a sequence. Received: {type(inputs)}")
    if not inputs:
        raise ValueError("inputs must not be empty")
    with tf.compat.v1.variable_scope(scope or "rnn") as inner:
        first = nest.flatten(inputs[0])[0]
        batch = _batch_size(first, 0)
        if initial_state is None:
            if not dtype:
                raise ValueError("If no initial_state is provided, argument `dtype` must be specified")
            state = _zero_state(cell, batch, dtype)
        else:
            state = initial_state
        lengths = None if sequence_length is None else tf.cast(sequence_length, tf.int32)
        outputs = []
        for time, now in enumerate(inputs):
            if time > 0:
                inner.reuse_variables()
            output, new_state = cell(now, state)
            new_state = nest.pack_sequence_as(state, nest.flatten(new_state))
            if lengths is not None:
                active = time < lengths
                output = _select(active, output, nest.map_structure(tf.zeros_like, output))
                new_state = _select(active, new_state, state)
            outputs.append(output)
            state = new_state
    return outputs, state


def static_bidirectional_rnn(cell_fw, cell_bw, inputs, initial_state_fw=None, initial_state_bw=None, dtype=None,
                             sequence_length=None, scope=None):
    """([forward and backward output of each step, joined], forward state, backward state)."""
    def reverse(steps):
        if sequence_length is None:
            return list(reversed(steps))
        stacked = nest.map_structure(lambda *parts: tf.reverse_sequence(tf.stack(parts), sequence_length, seq_axis=0,
                                                                        batch_axis=1), *steps)
        flat = [tf.unstack(part) for part in nest.flatten(stacked)]
        return [nest.pack_sequence_as(steps[0], list(parts)) for parts in zip(*flat)]
    with tf.compat.v1.variable_scope(scope or "bidirectional_rnn"):
        with tf.compat.v1.variable_scope("fw") as inner:
            forward, forward_state = static_rnn(cell_fw, inputs, initial_state_fw, dtype, sequence_length, scope=inner)
        with tf.compat.v1.variable_scope("bw") as inner:
            backward, backward_state = static_rnn(cell_bw, reverse(list(inputs)), initial_state_bw, dtype, sequence_length,
                                                  scope=inner)
    joined = [nest.map_structure(lambda a, b: tf.concat([a, b], 1), f, b) for f, b in zip(forward, reverse(backward))]
    return joined, forward_state, backward_state


def static_state_saving_rnn(cell, inputs, state_saver, state_name, sequence_length=None, scope=None):
    """As `static_rnn`, with a state that `state_saver` keeps between batches."""
    names = state_name if isinstance(state_name, (list, tuple)) else [state_name]
    parts = [state_saver.state(n) for n in names]
    state = parts[0] if not nest.is_nested(cell.state_size) else nest.pack_sequence_as(cell.state_size, parts)
    outputs, last = static_rnn(cell, inputs, initial_state=state, sequence_length=sequence_length, scope=scope)
    saves = [state_saver.save_state(n, part) for n, part in zip(names, nest.flatten(last))]
    with tf.control_dependencies(saves):
        outputs[-1] = nest.map_structure(tf.identity, outputs[-1])
    return outputs, last


def raw_rnn(cell, loop_fn, parallel_iterations=None, swap_memory=False, scope=None):
    """(TensorArray of outputs, last state, last loop state): `loop_fn` decides inputs, states and when to stop."""
    with tf.compat.v1.variable_scope(scope or "rnn"):
        time = tf.constant(0)
        finished, now, state, structure, loop_state = loop_fn(time, None, None, None)
        has_loop_state = loop_state is not None
        loop_state = loop_state if has_loop_state else tf.constant(0)
        if structure is None:
            structure = nest.map_structure(lambda size: tf.zeros([size]), cell.output_size)
            batch = nest.flatten(now)[0].shape[0]
            zeros = nest.map_structure(lambda s: tf.zeros([batch, *s.shape.as_list()], nest.flatten(now)[0].dtype), structure)
        else:
            batch = _batch_size(finished, 0)
            zeros = nest.map_structure(lambda s: tf.zeros(tf.concat([[batch], tf.shape(s)], 0), s.dtype), structure)
        emitted = nest.map_structure(lambda z: tf.TensorArray(z.dtype, size=0, dynamic_size=True, element_shape=z.shape), zeros)
        emitted = nest.flatten(emitted)

        def body(time, finished, now, state, emitted, loop_state):
            output, cell_state = cell(now, state)
            next_finished, next_now, next_state, emit, next_loop = loop_fn(
                time + 1, output, cell_state, loop_state if has_loop_state else None)
            next_state = _select(finished, state, nest.pack_sequence_as(state, nest.flatten(next_state)))
            emit = _select(finished, zeros, output if emit is None else emit)
            emitted = [a.write(time, e) for a, e in zip(emitted, nest.flatten(emit))]
            return [time + 1, finished | next_finished, nest.pack_sequence_as(now, nest.flatten(next_now)), next_state, emitted,
                    next_loop if has_loop_state else loop_state]
        result = tf.while_loop(lambda time, finished, *_: tf.logical_not(tf.reduce_all(finished)), body,
                               [time, finished, now, state, emitted, loop_state],
                               parallel_iterations=parallel_iterations or 32, swap_memory=swap_memory)
        return (nest.pack_sequence_as(zeros, result[4]), result[3], result[5] if has_loop_state else None)
