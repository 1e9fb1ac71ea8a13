// FlushDenormals: during its lifetime, its thread treats denormal numbers as zero, like TensorFlow's kernels do.
#ifndef WEIR_BASE_DENORMALS_H_
#define WEIR_BASE_DENORMALS_H_

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace weir {

class FlushDenormals {
 public:
#if defined(__x86_64__)
  FlushDenormals() : before_(_mm_getcsr()) {
    if ((before_ & kFlush) != kFlush) _mm_setcsr(before_ | kFlush);
  }
  ~FlushDenormals() {
    if ((before_ & kFlush) != kFlush) _mm_setcsr(before_);
  }
#else
  FlushDenormals() {}
  ~FlushDenormals() {}
#endif
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
#if defined(__x86_64__)
  static constexpr unsigned kFlush = 0x8040;  // results to zero, operands as zero
  const unsigned before_;
#endif
};

}  // namespace weir

#endif  // WEIR_BASE_DENORMALS_H_
