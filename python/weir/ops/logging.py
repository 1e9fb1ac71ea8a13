"""`tf.print`: tensors printed when they are computed."""

import sys

import weir.nest as nest
from weir.framework import convert_to_tensor, is_tensor, raw_ops


def print(*inputs, **kwargs):  # pylint: disable=redefined-builtin
    """Prints values, tensors among them, to standard error or to `output_stream`, which may be "file://path"."""
    stream = kwargs.pop("output_stream", sys.stderr)
    summarize = kwargs.pop("summarize", 3)
    separator, end = kwargs.pop("sep", " "), kwargs.pop("end", "\n")
    kwargs.pop("name", None)
    if kwargs:
        raise ValueError(f"Unrecognized keyword arguments for tf.print: {kwargs}")
    targets = {sys.stdout: "stdout", sys.__stdout__: "stdout", sys.stderr: "stderr", sys.__stderr__: "stderr"}
    target = stream if isinstance(stream, str) else targets.get(stream)
    if target is None:
        raise ValueError(f"Unsupported output stream: {stream}. Use sys.stdout, sys.stderr or 'file://PATH'.")
    template, tensors = [], []

    def add(value):
        if is_tensor(value) and not hasattr(value, "row_splits") and not hasattr(value, "dense_shape"):
            tensors.append(value)
            return "{}"
        if hasattr(value, "handle") and hasattr(value, "assign"):
            tensors.append(convert_to_tensor(value))
            return "{}"
        if hasattr(value, "dense_shape"):
            return f"'{type(value).__name__}(indices={add(value.indices)}, values={add(value.values)}, shape=" \
                   f"{add(value.dense_shape)})'"
        if hasattr(value, "row_splits"):
            return str(value)
        return str(value).replace("{}", "{ }")

    for value in inputs:
        if nest.is_nested(value):
            text = str(nest.map_structure(lambda leaf: _Shown(add(leaf)) if is_tensor(leaf) else leaf, value))
            template.append(text)
        else:
            template.append(add(value))
    text = raw_ops.StringFormat(inputs=tensors, template=separator.join(template), placeholder="{}",
                                summarize=summarize)
    return raw_ops.PrintV2(input=text, output_stream=target, end=end)


class _Shown:
    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return self.text


