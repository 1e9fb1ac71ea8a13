// ExhaustionReport: an allocator that can say who holds its memory, for the error of an allocation that found none.
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
  // After Allocate(bytes) has returned null.
  virtual std::string DescribeExhaustion(size_t bytes) const = 0;
};

}  // namespace weir

#endif  // WEIR_FRAMEWORK_EXHAUSTION_REPORT_H_
