#include "weir/ops/table/lookup_table.h"

namespace weir {

Status LookupTable::Initialize(const Tensor&, const Tensor&) {
  return InvalidArgument("The table is not initializable");
}

StatusOr<int64_t> LookupTable::CheckKeys(const Tensor& keys) const {
  if (keys.dtype() != key_dtype_) {
    return InvalidArgument("Key must be type ", Name(key_dtype_), " but got ", Name(keys.dtype()));
  }
  int rank = keys.rank() - key_shape_.rank();
  if (rank < 0 || keys.shape().Slice(rank, keys.rank()) != key_shape_) {
    return InvalidArgument("Input key shape ", keys.shape().ToString(), " must end with the table's key shape ",
                           key_shape_.ToString());
  }
  return keys.shape().Slice(0, rank).num_elements();
}

StatusOr<Shape> LookupTable::ValuesShape(const Tensor& keys) const {
  return keys.shape().Slice(0, keys.rank() - key_shape_.rank()).Concat(value_shape_);
}

StatusOr<int64_t> LookupTable::CheckKeysAndValues(const Tensor& keys, const Tensor& values) const {
  WEIR_ASSIGN_OR_RETURN(int64_t count, CheckKeys(keys));
  if (values.dtype() != value_dtype_) {
    return InvalidArgument("Value must be type ", Name(value_dtype_), " but got ", Name(values.dtype()));
  }
  WEIR_ASSIGN_OR_RETURN(Shape expected, ValuesShape(keys));
  if (values.shape() != expected) {
    return InvalidArgument("Expected shape ", expected.ToString(), " for value, got ", values.shape().ToString());
  }
  return count;
}

StatusOr<bool> LookupTable::CheckDefault(const Tensor& keys, const Tensor& default_value) const {
  if (default_value.dtype() != value_dtype_) {
    return InvalidArgument("Default value must be type ", Name(value_dtype_), " but got ", Name(default_value.dtype()));
  }
  if (default_value.shape() == value_shape_) return false;
  WEIR_ASSIGN_OR_RETURN(Shape full, ValuesShape(keys));
  if (default_value.shape() == full) return true;
  return InvalidArgument("Expected shape ", value_shape_.ToString(), " or ", full.ToString(),
                         " for default value, got ", default_value.shape().ToString());
}

}  // namespace weir
