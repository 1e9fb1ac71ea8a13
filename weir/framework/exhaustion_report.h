// ExhaustionReport: an allocator that can describe who holds its memory, for out-of-memory errors.
#ifndef WEIR_FRAMEWORK_EXHAUSTION_REPORT_H_
#define WEIR_FRAMEWORK_EXHAUSTION_REPORT_H_

#include <cstddef>
#include <string>

#include "weir/base/export.h"

namespace WEIR_PUBLIC weir {

// Implemented by an Allocator.
class ExhaustionReport {
 public:
  virtual ~ExhaustionReport() = default;
  // To be called after Allocate(bytes) has returned null.
  virtual std::string DescribeExhaustion(size_t bytes) const = 0;
};

}  // namespace weir

#endif  // WEIR_FRAMEWORK_EXHAUSTION_REPORT_H_
