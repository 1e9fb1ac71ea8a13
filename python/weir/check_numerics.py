"""tf.debugging.enable_check_numerics: every operation's floats are checked for infinities and NaN."""

import threading

import numpy as np

from weir.framework import op_callbacks, raw_ops
from weir.framework.graph import executing_eagerly_outside_functions

__all__ = ["disable_check_numerics", "enable_check_numerics"]

# Whose NaN are harmless, and what cannot make any.
_IGNORED_OUTPUTS = {"FusedBatchNorm": (1, 2, 3, 4), "FusedBatchNormV2": (1, 2, 3, 4), "FusedBatchNormV3": (1, 2, 3, 4, 5)}
_SAFE_OPS = frozenset("""
    Concat ConcatV2 ExpandDims Fill Gather Maximum Minimum Reshape Slice Squeeze Stack StridedSlice StridedSliceGrad
    TensorListConcatV2 TensorListGather TensorListGetItem TensorListPopBack TensorListStack Transpose Unpack
    Enter Exit Identity If LoopCond Merge NextIteration StatelessIf StatefulPartitionedCall PartitionedCall Switch While
    StatelessWhile Case StatelessCase RemoteCall DestroyResourceOp CheckNumericsV2 _Arg""".split())

_state = threading.local()


def _message(slot, outputs, op_type, tensor, inputs, graph):
    lines = ["", "", f"!!! Detected Infinity or NaN in output {slot} of {'graph' if graph else 'eagerly-executing'} op "
                     f"\"{op_type}\" (# of outputs: {len(outputs)}) !!!",
             f"  dtype: {tensor.dtype}", f"  shape: {tensor.shape}"]
    if not graph:
        value = np.asarray(tensor.numpy(), np.float64)
        for word, count in (("-Inf", np.sum(np.isneginf(value))), ("+Inf", np.sum(np.isposinf(value))),
                            ("+NaN", np.sum(np.isnan(value)))):
            if count:
                lines.append(f"  # of {word} elements: {count}")
    if len(inputs) > 1:
        lines += ["", f"  Input tensors ({len(inputs)}):"]
        lines += [f"         {i}: {value!s}" for i, value in enumerate(inputs)]
    elif inputs:
        lines += ["", f"  Input tensor: {inputs[0]!s}"]
    if graph and getattr(graph, "name", None):
        lines.append(f'  Graph name: "{graph.name}"')
    return "\n".join(lines) + "\n\n"


class _Checks:
    def __init__(self):
        self._placeholders = {}  # of TensorFlow 1's graphs: {(graph's id, tensor's name): operation that checks it}

    def __call__(self, op_type, inputs, attrs, outputs, op_name=None, graph=None):
        if op_type in _SAFE_OPS:
            return None
        ignored = _IGNORED_OUTPUTS.get(op_type, ())
        checked = [i for i, output in enumerate(outputs) if output.dtype.is_floating and i not in ignored]
        if graph is None:
            for i in checked:
                if not np.all(np.isfinite(np.asarray(outputs[i].numpy(), np.float64))):
                    raw_ops.CheckNumericsV2(tensor=outputs[i], message=_message(i, outputs, op_type, outputs[i], inputs, None))
            return None
        if executing_eagerly_outside_functions():  # the check is an effect of the function
            for i in checked:
                raw_ops.CheckNumericsV2(tensor=outputs[i], message=_message(i, outputs, op_type, outputs[i], inputs, graph))
            return None
        for value in inputs:
            check = self._placeholders.get((id(graph), value.name))
            if check is not None and outputs:
                outputs[0].op._add_control_input(check)
        made = list(outputs)
        for i in checked:
            result = raw_ops.CheckNumericsV2(tensor=outputs[i],
                                             message=_message(i, outputs, op_type, outputs[i], inputs, graph))
            if op_type == "Placeholder":
                self._placeholders[id(graph), outputs[i].name] = result.op
            else:
                made[i] = result
        return made


def enable_check_numerics(stack_height_limit=30, path_length_limit=50):
    """From now on an operation of this thread, or of a function that it traces, whose result has an infinity or a NaN is
    an InvalidArgumentError that tells which operation it was."""
    del stack_height_limit, path_length_limit  # nodes do not remember where they were made
    if not hasattr(_state, "checks"):
        _state.checks = _Checks()
        op_callbacks.add_op_callback(_state.checks)


def disable_check_numerics():
    """Undoes enable_check_numerics in this thread."""
    if hasattr(_state, "checks"):
        op_callbacks.remove_op_callback(_state.checks)
        del _state.checks
