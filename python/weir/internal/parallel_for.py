"""tensorflow.python.ops.parallel_for: loops whose iterations do not depend on each other, and jacobians by them."""

import weir as tf
from weir import nest
from weir.test_case import TestCase

__all__ = ["PForTestCase", "batch_jacobian", "for_loop", "jacobian", "pfor", "vectorized_map"]


def vectorized_map(fn, elems, fallback_to_while_loop=True, warn=True):
    return tf.vectorized_map(fn, elems, fallback_to_while_loop, warn)


def pfor(loop_fn, iters, fallback_to_while_loop=True, parallel_iterations=None, warn=False):
    """`loop_fn(i)` for each i below `iters`, stacked."""
    del fallback_to_while_loop, parallel_iterations, warn
    return _loop(loop_fn, iters)


def for_loop(loop_fn, loop_fn_dtypes, iters, parallel_iterations=None):
    """As pfor, one iteration after the other; results of an operation alone are None."""
    del parallel_iterations
    return _loop(loop_fn, iters, loop_fn_dtypes)


def _loop(loop_fn, iters, dtypes=None):
    iters = tf.convert_to_tensor(iters, tf.int32)
    if tf.get_static_value(iters) == 0:
        return nest.map_structure(lambda dtype: tf.zeros([0], dtype), dtypes) if dtypes is not None else loop_fn(0)
    model = []

    def body(i):
        result = loop_fn(i)
        model.append(nest.map_structure(lambda v: None if isinstance(v, tf.Operation) or v is None else v, result))
        return [tf.convert_to_tensor(v) for v in nest.flatten(model[-1]) if v is not None]
    signature = None
    if dtypes is not None:
        signature = [tf.TensorSpec(None, d) for d in nest.flatten(dtypes) if d is not None]
    else:
        graph = tf.Graph()
        with graph.as_default():
            signature = [tf.TensorSpec(t.shape, t.dtype) for t in body(tf.compat.v1.placeholder(tf.int32, []))]
    stacked = iter(tf.map_fn(body, tf.range(iters), fn_output_signature=signature))
    return nest.map_structure(lambda v: None if v is None else next(stacked), model[-1])


def jacobian(output, inputs, use_pfor=True, parallel_iterations=None):
    """The derivative of each element of `output`, whose shape must be known, by the inputs, in a graph."""
    del use_pfor, parallel_iterations
    flat_inputs = nest.flatten(inputs)
    rows = _rows(output, flat_inputs, tf.eye(_count(output.shape), dtype=output.dtype), output.shape)
    out = [None if None in column else tf.reshape(tf.stack(column), tf.concat([output.shape, tf.shape(x)], 0))
           for x, column in zip(flat_inputs, zip(*rows))]
    return nest.pack_sequence_as(inputs, out)


def batch_jacobian(output, inp, use_pfor=True, parallel_iterations=None):
    """The derivative of each row of `output` by the same row of `inp`."""
    del use_pfor, parallel_iterations
    if not output.shape[0:1].is_compatible_with(inp.shape[0:1]):
        raise ValueError(f"Need first dimension of `output` shape ({output.shape}) and `inp` shape ({inp.shape}) to match.")
    width = _count(output.shape[1:])
    weights = [tf.ones(tf.concat([tf.shape(output)[:1], [1]], 0), output.dtype) * row
               for row in tf.unstack(tf.eye(width, dtype=output.dtype))]
    rows = _rows(output, [inp], weights, tf.shape(output))
    if rows and rows[0][0] is None:
        return None
    stacked = tf.stack([row[0] for row in rows], axis=1)
    return tf.reshape(stacked, tf.concat([tf.shape(output), tf.shape(inp)[1:]], 0))


def _count(shape):
    if not shape.is_fully_defined():
        raise ValueError(f"The shape of the output of a jacobian must be known; it is {shape}")
    return shape.num_elements()


def _rows(output, inputs, weights, shape):
    weights = tf.unstack(weights) if tf.is_tensor(weights) else weights
    return [tf.gradients(output, inputs, grad_ys=tf.reshape(row, shape)) for row in weights]


class PForTestCase(TestCase):
    """Compares pfor with a loop."""

    def _run_targets(self, targets1, targets2=None, run_init=True):
        targets1 = nest.flatten(targets1)
        targets2 = [] if targets2 is None else nest.flatten(targets2)
        if run_init and not tf.executing_eagerly():
            self.evaluate(tf.compat.v1.global_variables_initializer())
        return self.evaluate(targets1 + targets2)

    def run_and_assert_equal(self, targets1, targets2, rtol=1e-4, atol=1e-5):
        """Two lists of results are close."""
        outputs = nest.flatten(self._run_targets(targets1, targets2))
        half = len(outputs) // 2
        for one, other in zip(outputs[:half], outputs[half:]):
            if one.dtype == object:
                self.assertAllEqual(one, other)
            else:
                self.assertAllClose(one, other, rtol=rtol, atol=atol)

    def _test_loop_fn(self, loop_fn, iters, parallel_iterations=None, fallback_to_while_loop=False, rtol=1e-4, atol=1e-5):
        first = nest.map_structure(lambda t: None if t is None or isinstance(t, tf.Operation) else t.dtype, loop_fn(
            tf.constant(0)))
        self.run_and_assert_equal(pfor(loop_fn, iters), for_loop(loop_fn, first, iters), rtol=rtol, atol=atol)
