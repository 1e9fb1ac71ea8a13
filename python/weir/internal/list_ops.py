"""tensorflow.python.ops.list_ops: lists of tensors as values of a graph."""

from weir.framework import convert_to_tensor, dtypes, raw_ops
from weir.framework.shapes import TensorShape, as_shape

__all__ = ["empty_tensor_list", "tensor_list_concat", "tensor_list_concat_lists", "tensor_list_element_shape",
           "tensor_list_from_tensor", "tensor_list_gather", "tensor_list_get_item", "tensor_list_length",
           "tensor_list_pop_back", "tensor_list_push_back", "tensor_list_push_back_batch", "tensor_list_reserve",
           "tensor_list_resize", "tensor_list_scatter", "tensor_list_set_item", "tensor_list_split", "tensor_list_stack"]


def _shape(shape):
    """A shape as an op takes it: -1 for what is not known, a scalar where the rank is not."""
    if shape is None:
        return convert_to_tensor(-1, dtypes.int32)
    if isinstance(shape, TensorShape) or isinstance(shape, (list, tuple)) and all(
            s is None or isinstance(s, int) for s in shape):
        shape = as_shape(shape)
        if shape.rank is None:
            return convert_to_tensor(-1, dtypes.int32)
        return convert_to_tensor([-1 if s is None else s for s in shape.as_list()], dtypes.int32)
    return convert_to_tensor(shape)


def empty_tensor_list(element_shape, element_dtype, max_num_elements=None, name=None):
    return raw_ops.EmptyTensorList(element_shape=_shape(element_shape), element_dtype=element_dtype, name=name,
                                   max_num_elements=-1 if max_num_elements is None else max_num_elements)


def tensor_list_reserve(element_shape, num_elements, element_dtype, name=None):
    return raw_ops.TensorListReserve(element_shape=_shape(element_shape), num_elements=num_elements,
                                     element_dtype=element_dtype, name=name)


def tensor_list_from_tensor(tensor, element_shape, name=None):
    return raw_ops.TensorListFromTensor(tensor=tensor, element_shape=_shape(element_shape), name=name)


def tensor_list_get_item(input_handle, index, element_dtype, element_shape=None, name=None):
    return raw_ops.TensorListGetItem(input_handle=input_handle, index=index, element_shape=_shape(element_shape),
                                     element_dtype=element_dtype, name=name)


def tensor_list_set_item(input_handle, index, item, resize_if_index_out_of_bounds=False, name=None):
    """The list with another item at `index`; with `resize_if_index_out_of_bounds` it grows as far as needed."""
    return raw_ops.TensorListSetItem(input_handle=input_handle, index=index, item=item, name=name,
                                     resize_if_index_out_of_bounds=resize_if_index_out_of_bounds)


def tensor_list_push_back(input_handle, tensor, name=None):
    return raw_ops.TensorListPushBack(input_handle=input_handle, tensor=tensor, name=name)


def tensor_list_push_back_batch(input_handles, tensor, name=None):
    return raw_ops.TensorListPushBackBatch(input_handles=input_handles, tensor=tensor, name=name)


def tensor_list_pop_back(input_handle, element_dtype, name=None):
    return raw_ops.TensorListPopBack(input_handle=input_handle, element_shape=-1, element_dtype=element_dtype, name=name)


def tensor_list_length(input_handle, name=None):
    return raw_ops.TensorListLength(input_handle=input_handle, name=name)


def tensor_list_resize(input_handle, size, name=None):
    return raw_ops.TensorListResize(input_handle=input_handle, size=size, name=name)


def tensor_list_element_shape(input_handle, shape_type, name=None):
    return raw_ops.TensorListElementShape(input_handle=input_handle, shape_type=shape_type, name=name)


def tensor_list_stack(input_handle, element_dtype, num_elements=-1, element_shape=None, name=None):
    return raw_ops.TensorListStack(input_handle=input_handle, element_shape=_shape(element_shape),
                                   element_dtype=element_dtype, num_elements=num_elements, name=name)


def tensor_list_concat(input_handle, element_dtype, element_shape=None, leading_dims=None, name=None):
    """The items of a list, one after the other along their first dimension."""
    leading = convert_to_tensor([] if leading_dims is None else leading_dims, dtypes.int64)
    shape = _shape(element_shape)
    return raw_ops.TensorListConcatV2(input_handle=input_handle, element_shape=shape, leading_dims=leading,
                                      element_dtype=element_dtype, name=name)[0]


def tensor_list_concat_lists(input_a, input_b, element_dtype, name=None):
    return raw_ops.TensorListConcatLists(input_a=input_a, input_b=input_b, element_dtype=element_dtype, name=name)


def tensor_list_split(tensor, element_shape, lengths, name=None):
    return raw_ops.TensorListSplit(tensor=tensor, element_shape=_shape(element_shape),
                                   lengths=convert_to_tensor(lengths, dtypes.int64), name=name)


def tensor_list_gather(input_handle, indices, element_dtype, element_shape=None, name=None):
    return raw_ops.TensorListGather(input_handle=input_handle, indices=indices, element_shape=_shape(element_shape),
                                    element_dtype=element_dtype, name=name)


def tensor_list_scatter(tensor, indices, element_shape=None, input_handle=None, name=None):
    """A list, or `input_handle`, with the rows of a tensor at the places `indices`."""
    if input_handle is not None:
        return raw_ops.TensorListScatterIntoExistingList(input_handle=input_handle, tensor=tensor, indices=indices, name=name)
    return raw_ops.TensorListScatterV2(tensor=tensor, indices=indices, element_shape=_shape(element_shape),
                                       num_elements=-1, name=name)
