// Fourier transforms of any length in double precision.
#ifndef WEIR_OPS_AUDIO_FOURIER_H_
#define WEIR_OPS_AUDIO_FOURIER_H_

#include <complex>
#include <cstdint>
#include <vector>

namespace weir {

// The transform of a length, prepared once and used by any number of threads. Lengths that are no power of two are
// turned into a convolution (Bluestein), which is a product of transforms of such a length.
class FourierTransform {
 public:
  using Complex = std::complex<double>;

  // REQUIRES: 0 < length <= kMaxLength.
  static constexpr int64_t kMaxLength = int64_t{1} << 28;
  explicit FourierTransform(int64_t length);

  // In place, without scaling; `inverse` takes the other sign. REQUIRES: data.size() == length.
  void Run(std::vector<Complex>& data, bool inverse) const;

 private:
  void RunPowerOfTwo(std::vector<Complex>& data) const;

  int64_t length_;
  int64_t padded_;                  // the power of two that the work is done in
  std::vector<Complex> roots_;      // of 1, padded_ / 2 of them
  std::vector<Complex> chirp_;      // e^(-i pi k^2 / length), empty for a power of two
  std::vector<Complex> transform_;  // of the chirp's conjugate, as a circle of padded_
};

}  // namespace weir

#endif  // WEIR_OPS_AUDIO_FOURIER_H_
