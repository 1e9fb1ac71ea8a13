// What ops outside the table family do with lookup tables: fill one before its first use.
#ifndef WEIR_RESOURCES_FILLABLE_TABLE_H_
#define WEIR_RESOURCES_FILLABLE_TABLE_H_

#include <string_view>

#include "weir/tensor/tensor.h"

namespace weir {

// Thread-safe.
class FillableTable {
 public:
  // Of the resource that is such a table.
  static constexpr std::string_view kTypeName = "N10tensorflow6lookup15LookupInterfaceE";
  virtual ~FillableTable() = default;
  virtual DType key_dtype() const = 0;
  virtual DType value_dtype() const = 0;
  // True if it is filled once, before its first use, and never changed.
  virtual bool is_initializable() const = 0;
  // Fills an initialisable table; a second time only as many entries as are there are accepted, and ignored.
  virtual Status Initialize(const Tensor& keys, const Tensor& values) = 0;
};

}  // namespace weir

#endif  // WEIR_RESOURCES_FILLABLE_TABLE_H_
