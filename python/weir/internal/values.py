"""tensorflow.python.util.variable_utils: structures with tensors in the place of variables."""

from weir import nest
from weir.framework import CompositeTensor, convert_to_tensor
from weir.variables import Variable

__all__ = ["convert_variables_to_tensors"]


def convert_variables_to_tensors(values):
    """The values of variables in their place; those inside of composite tensors, too."""
    def convert(value):
        if isinstance(value, Variable):
            return convert_to_tensor(value)
        if isinstance(value, CompositeTensor):
            parts = [convert(part) for part in nest.flatten(value, expand_composites=True)]
            return nest.pack_sequence_as(value, parts, expand_composites=True)
        return value
    return nest.map_structure(convert, values)
