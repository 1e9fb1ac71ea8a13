"""`TensorArray`: a list of tensors that is written and read by index, mostly in loops.

Eager arrays are Python lists. In graphs the elements live in a tensor list, a variant tensor called the flow: each
write makes a new flow, so the array that `write` returns must be used from then on.
"""

from weir.framework import (TensorShape, as_dtype, convert_to_tensor, errors, executing_eagerly, get_static_value,
                            is_tensor, raw_ops)
from weir.framework.graph import name_scope
from weir.ops import array, dtypes


def _shape_arg(shape):
    """A partial shape as the list ops take it: unknown dimensions are -1, unknown rank is the scalar -1."""
    shape = TensorShape(shape)
    if shape.rank is None:
        return array.constant(-1, dtype=dtypes.int32)
    return array.constant([-1 if d is None else d for d in shape.as_list()], dtype=dtypes.int32)


class TensorArray:
    """A list of tensors of one type, and by default of one shape."""

    def __init__(self, dtype, size=None, dynamic_size=None, clear_after_read=None, tensor_array_name=None, handle=None,
                 flow=None, infer_shape=True, element_shape=None, colocate_with_first_write_call=True, name=None):
        del tensor_array_name, handle, colocate_with_first_write_call
        self._dtype = as_dtype(dtype).base_dtype
        self._dynamic_size = bool(dynamic_size)
        self._infer_shape = infer_shape
        self._clear_after_read = True if clear_after_read is None else clear_after_read
        self._known_shape = [TensorShape(element_shape)]  # shared by all arrays that come from this one
        self._flow = flow
        self._known_size = None  # of an array that does not grow
        self._list = None
        self._cleared = set()
        if flow is None:
            if size is None and not dynamic_size:
                raise ValueError("Size must be provided for a TensorArray that does not grow")
            size = 0 if size is None else size
            if executing_eagerly():
                self._list = [None] * int(size)
            else:
                count = convert_to_tensor(size, dtype=dtypes.int32)
                known = get_static_value(count)
                if known is not None and not self._dynamic_size:
                    self._known_size = int(known)
                with name_scope(name or "TensorArrayV2") as scope:
                    self._flow = raw_ops.TensorListReserve(element_shape=_shape_arg(self._element_shape),
                                                           num_elements=count, element_dtype=self._dtype, name=scope)

    @property
    def dtype(self):
        """The type of the elements."""
        return self._dtype

    @property
    def _element_shape(self):
        return self._known_shape[0]

    @property
    def dynamic_size(self):
        """Whether writes beyond the end make the array larger."""
        return self._dynamic_size

    @property
    def element_shape(self):
        """What is known of the elements' shape."""
        return self._element_shape

    @property
    def flow(self):
        """The tensor list of an array in a graph. An eager array that enters a graph becomes one here."""
        if self._flow is None and not executing_eagerly():
            self._flow = self._list_as_flow()
        return self._flow if self._flow is not None else array.constant(0, dtype=dtypes.int32)

    @property
    def handle(self):
        """None: arrays are values, not resources."""
        return None

    def _list_as_flow(self):
        filled = [self._value(i) for i in range(len(self._list))]
        if not filled:
            return raw_ops.TensorListReserve(element_shape=_shape_arg(self._element_shape),
                                             num_elements=array.constant(0), element_dtype=self._dtype)
        return raw_ops.TensorListFromTensor(tensor=array.stack(filled), element_shape=_shape_arg(self._element_shape))

    def with_flow(self, flow):
        """An array like this one over another tensor list."""
        result = TensorArray(self._dtype, flow=flow, dynamic_size=self._dynamic_size, infer_shape=self._infer_shape,
                             clear_after_read=self._clear_after_read)
        # What a loop's body writes tells of the elements that are read after the loop, too.
        result._known_shape = self._known_shape
        result._known_size = self._known_size
        return result

    def _merge_shape(self, shape):
        if not self._infer_shape:
            return
        if not self._element_shape.is_compatible_with(shape):
            raise ValueError(f"Incompatible shape for value ({shape}), expected ({self._element_shape})")
        self._known_shape[0] = self._element_shape.merge_with(shape)

    def _value(self, index):
        value = self._list[index]
        if value is None:
            if not self._element_shape.is_fully_defined():
                raise errors.InvalidArgumentError(
                    None, None, f"Could not read index {index} from TensorArray: it was never written and the shape of "
                    "the elements is not known")
            value = array.zeros(self._element_shape, dtype=self._dtype)
        return value

    def read(self, index, name=None):
        """The element at `index`."""
        if self._flow is None and not executing_eagerly():
            return self.with_flow(self.flow).read(index, name)
        if self._flow is not None:
            with name_scope(name or "TensorArrayV2Read"):
                return raw_ops.TensorListGetItem(input_handle=self._flow, index=convert_to_tensor(index, dtypes.int32),
                                                 element_shape=_shape_arg(self._element_shape),
                                                 element_dtype=self._dtype)
        index = int(index)
        if index < 0:
            raise errors.OutOfRangeError(None, None, "Reading from negative indices (index %d) is not allowed." % index)
        if index >= len(self._list):
            raise errors.OutOfRangeError(None, None, "Tried to read from index %d but array size is: %d " %
                                         (index, len(self._list)))
        if index in self._cleared:
            raise errors.InvalidArgumentError(
                None, None, f"Could not read index {index} twice because it was cleared after a previous read (perhaps "
                "try setting clear_after_read = false?)")
        value = self._value(index)
        if self._clear_after_read:
            self._list[index] = None
            self._cleared.add(index)
        return value

    def write(self, index, value, name=None):
        """The array with `value` at `index`."""
        if self._flow is None and not executing_eagerly():
            return self.with_flow(self.flow).write(index, value, name)
        value = convert_to_tensor(value, dtype_hint=self._dtype)
        if value.dtype != self._dtype:
            raise (ValueError if self._flow is not None else errors.InvalidArgumentError)(
                *([] if self._flow is not None else [None, None]),
                f"TensorArray dtype is {self._dtype.name} but Op is trying to write dtype {value.dtype.name} ")
        if self._flow is not None:
            result = self.with_flow(None if self._flow is None else self._flow)
            result._merge_shape(value.shape)
            with name_scope(name or "TensorArrayV2Write"):
                result._flow = raw_ops.TensorListSetItem(input_handle=self._flow,
                                                         index=convert_to_tensor(index, dtypes.int32), item=value,
                                                         resize_if_index_out_of_bounds=self._dynamic_size)
            return result
        index = int(index)
        if index < 0:
            raise errors.OutOfRangeError(None, None, "Writing to negative indices (index %d) is not allowed." % index)
        if index >= len(self._list):
            if not self._dynamic_size:
                raise errors.OutOfRangeError(
                    None, None, "Tried to write to index %d but array is not resizeable and size is: %d " %
                    (index, len(self._list)))
            self._list.extend([None] * (index + 1 - len(self._list)))
        if index in self._cleared or (self._list[index] is not None and False):
            raise errors.InvalidArgumentError(None, None, f"Could not write to TensorArray index {index} because it has "
                                              "already been read.")
        self._merge_shape(value.shape)
        self._list[index] = value
        return self

    def stack(self, name=None):
        """All elements as one tensor along a new first dimension."""
        if self._flow is None and not executing_eagerly():
            return self.with_flow(self.flow).stack(name)
        if self._flow is not None:
            with name_scope(name or "TensorArrayV2Stack"):
                return raw_ops.TensorListStack(input_handle=self._flow, element_shape=_shape_arg(self._element_shape),
                                               element_dtype=self._dtype,
                                               num_elements=-1 if self._known_size is None else self._known_size)
        if not self._list:
            sizes = self._element_shape.as_list() if self._element_shape.rank is not None else []
            return array.zeros([0] + [0 if d is None else d for d in sizes], dtype=self._dtype)
        return array.stack([self._value(i) for i in range(len(self._list))], name=name or "stack")

    def unstack(self, value, name=None):
        """An array whose elements are the slices of `value` along its first dimension."""
        value = convert_to_tensor(value, dtype=self._dtype)
        if executing_eagerly() and self._flow is None:
            self._merge_shape(value.shape[1:])
            self._list = array.unstack(value)
            self._cleared = set()
            return self
        result = self.with_flow(self.flow)
        result._merge_shape(value.shape[1:])
        with name_scope(name or "TensorArrayUnstack"):
            result._flow = raw_ops.TensorListFromTensor(tensor=value, element_shape=_shape_arg(value.shape[1:]))
        return result

    def gather(self, indices, name=None):
        """The elements at `indices`, stacked."""
        if executing_eagerly() and self._flow is None:
            if is_tensor(indices):
                indices = indices.numpy()
            return array.stack([self._value(int(i)) for i in indices])
        return raw_ops.TensorListGather(input_handle=self.flow, indices=indices, element_dtype=self._dtype,
                                        element_shape=_shape_arg(self._element_shape), name=name)

    def scatter(self, indices, value, name=None):
        """An array whose elements at `indices` are the slices of `value`."""
        if executing_eagerly() and self._flow is None:
            positions = indices.numpy() if is_tensor(indices) else indices
            result = self
            for i, part in zip(positions, array.unstack(convert_to_tensor(value, dtype=self._dtype))):
                result = result.write(int(i), part)
            return result
        value = convert_to_tensor(value, dtype=self._dtype)
        result = self.with_flow(self.flow)
        result._merge_shape(value.shape[1:])
        result._flow = raw_ops.TensorListScatterIntoExistingList(input_handle=self._flow, tensor=value, indices=indices,
                                                                 name=name)
        return result

    def concat(self, name=None):
        """All elements joined along their first dimension."""
        if executing_eagerly() and self._flow is None:
            values = [self._value(i) for i in range(len(self._list))]
            return array.concat(values, 0, name=name or "concat")
        shape = TensorShape([None]).concatenate(self._element_shape[1:]) if self._element_shape.rank else TensorShape(None)
        return raw_ops.TensorListConcatV2(input_handle=self.flow, element_shape=_shape_arg(shape),
                                          leading_dims=array.constant([], dtype=dtypes.int64),
                                          element_dtype=self._dtype, name=name)[0]

    def split(self, value, lengths, name=None):
        """An array whose elements are consecutive parts of `value`, `lengths[i]` rows each."""
        value = convert_to_tensor(value, dtype=self._dtype)
        if executing_eagerly() and self._flow is None:
            sizes = [int(n) for n in (lengths.numpy() if is_tensor(lengths) else lengths)]
            self._list = list(array.split(value, sizes))
            return self
        result = self.with_flow(self.flow)
        result._flow = raw_ops.TensorListSplit(tensor=value, element_shape=_shape_arg(TensorShape([None]).concatenate(
            value.shape[1:])), lengths=array.cast(convert_to_tensor(lengths), dtypes.int64), name=name)
        return result

    def size(self, name=None):
        """The number of elements."""
        if executing_eagerly() and self._flow is None:
            return array.constant(len(self._list))
        return raw_ops.TensorListLength(input_handle=self.flow, name=name)

    def identity(self):
        """The array itself."""
        return self

    def grad(self, source, flow=None, name=None):
        """Gradients flow through tensor lists by themselves."""
        raise NotImplementedError("TensorArray.grad is not supported; use GradientTape or tf.gradients")

    def close(self, name=None):
        """Drops the elements."""
        del name
        self._list = [] if self._list is not None else None


class TensorArraySpec:
    """What is known of a TensorArray before it is there."""

    def __init__(self, element_shape=None, dtype=dtypes.float32, dynamic_size=False, infer_shape=True):
        self.element_shape = TensorShape(element_shape)
        self.dtype = as_dtype(dtype)
        self.dynamic_size = dynamic_size
        self.infer_shape = infer_shape

    @classmethod
    def from_value(cls, value):
        """The spec of an array."""
        return cls(value.element_shape, value.dtype, value.dynamic_size)

    @property
    def value_type(self):
        """TensorArray."""
        return TensorArray

    def __eq__(self, other):
        return isinstance(other, TensorArraySpec) and (self.element_shape, self.dtype, self.dynamic_size) == (
            other.element_shape, other.dtype, other.dynamic_size)

    def __hash__(self):
        return hash((self.dtype, self.dynamic_size))

    def __repr__(self):
        return f"TensorArraySpec({self.element_shape}, {self.dtype!r}, {self.dynamic_size}, {self.infer_shape})"
