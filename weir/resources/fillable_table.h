// The interface of lookup tables for ops outside the table family: fills a table before its first use.
#ifndef WEIR_RESOURCES_FILLABLE_TABLE_H_
#define WEIR_RESOURCES_FILLABLE_TABLE_H_

#include <string_view>

#include "weir/tensor/tensor.h"

namespace weir {

// Thread-safe.
class FillableTable {
 public:
  // The type name of the resource.
  static constexpr std::string_view kTypeName = "N10tensorflow6lookup15LookupInterfaceE";
  virtual ~FillableTable() = default;
  virtual DType key_dtype() const = 0;
  virtual DType value_dtype() const = 0;
  // True if the table is filled once, before its first use, and never changed.
  virtual bool is_initializable() const = 0;
  // Fills an initializable table. A second call must have the same number of entries and is ignored.
  virtual Status Initialize(const Tensor& keys, const Tensor& values) = 0;
};

}  // namespace weir

#endif  // WEIR_RESOURCES_FILLABLE_TABLE_H_
