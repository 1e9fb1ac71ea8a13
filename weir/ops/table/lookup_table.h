// LookupTable: a map from keys to values that lives between steps.
//
// Keys and values are elements of tensors, or (where key_shape() or value_shape() is not a scalar's) small tensors: the
// keys of a call have some shape that ends with key_shape(), the values the same shape with value_shape() in its place.
#ifndef WEIR_OPS_TABLE_LOOKUP_TABLE_H_
#define WEIR_OPS_TABLE_LOOKUP_TABLE_H_

#include <memory>
#include <string_view>
#include <utility>

#include "weir/framework/resource.h"
#include "weir/resources/fillable_table.h"

namespace weir {

// Thread-safe. Every method checks its tensors.
class LookupTable : public Resource, public FillableTable {
 public:
  using FillableTable::kTypeName;

  LookupTable(DType key_dtype, DType value_dtype, Shape key_shape, Shape value_shape)
      : key_dtype_(key_dtype),
        value_dtype_(value_dtype),
        key_shape_(std::move(key_shape)),
        value_shape_(std::move(value_shape)) {}
  std::string_view type_name() const final { return kTypeName; }

  DType key_dtype() const override { return key_dtype_; }
  DType value_dtype() const override { return value_dtype_; }
  const Shape& key_shape() const { return key_shape_; }
  const Shape& value_shape() const { return value_shape_; }
  bool is_initializable() const override { return false; }

  virtual int64_t Size() const = 0;
  // The value of each key, or the default's: one value for all, or one for each.
  virtual StatusOr<Tensor> Find(const Tensor& keys, const Tensor& default_value) const = 0;
  // Later keys win.
  virtual Status Insert(const Tensor& keys, const Tensor& values) = 0;
  // Keys that are not there are fine.
  virtual Status Remove(const Tensor& keys) = 0;
  // Replaces everything by what Export gave.
  virtual Status Import(const Tensor& keys, const Tensor& values) = 0;
  virtual StatusOr<std::pair<Tensor, Tensor>> Export() const = 0;
  Status Initialize(const Tensor& keys, const Tensor& values) override;
  virtual bool is_initialized() const { return true; }

 protected:
  // INVALID_ARGUMENT unless types and shapes fit. The number of keys.
  StatusOr<int64_t> CheckKeys(const Tensor& keys) const;
  StatusOr<int64_t> CheckKeysAndValues(const Tensor& keys, const Tensor& values) const;
  // The shape of the values of `keys`.
  StatusOr<Shape> ValuesShape(const Tensor& keys) const;
  // True if the default value has one value for each key.
  StatusOr<bool> CheckDefault(const Tensor& keys, const Tensor& default_value) const;

 private:
  const DType key_dtype_;
  const DType value_dtype_;
  const Shape key_shape_;
  const Shape value_shape_;
};

// HashTable; MutableHashTable and MutableHashTableOfTensors; MutableDenseHashTable. REQUIRES: keys are strings, int32
// or int64.
std::shared_ptr<LookupTable> MakeStaticTable(DType key_dtype, DType value_dtype);
std::shared_ptr<LookupTable> MakeMutableTable(DType key_dtype, DType value_dtype, const Shape& value_shape);

struct DenseTableOptions {
  Tensor empty_key;
  Tensor deleted_key;  // no value: nothing can be removed
  DType value_dtype = DType::kInvalid;
  Shape value_shape;
  int64_t initial_num_buckets = 0;
  float max_load_factor = 0;
};
StatusOr<std::shared_ptr<LookupTable>> MakeDenseTable(const DenseTableOptions& options);

}  // namespace weir

#endif  // WEIR_OPS_TABLE_LOOKUP_TABLE_H_
