#include "weir/ops/audio/fourier.h"

#include <bit>
#include <numbers>

namespace weir {

FourierTransform::FourierTransform(int64_t length) : length_(length) {
  const bool is_power = std::has_single_bit(static_cast<uint64_t>(length));
  padded_ = is_power ? length : static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(2 * length - 1)));
  for (int64_t k = 0; k < padded_ / 2; ++k) {
    roots_.push_back(std::polar(1.0, -2.0 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(padded_)));
  }
  if (is_power) return;
  transform_.assign(static_cast<size_t>(padded_), Complex(0));
  int64_t square = 0;  // k * k modulo 2 * length
  for (int64_t k = 0; k < length; ++k) {
    const Complex w = std::polar(1.0, -std::numbers::pi * static_cast<double>(square) / static_cast<double>(length));
    chirp_.push_back(w);
    transform_[k] = std::conj(w);
    if (k > 0) transform_[padded_ - k] = std::conj(w);
    square = (square + 2 * k + 1) % (2 * length);
  }
  RunPowerOfTwo(transform_);
}

void FourierTransform::RunPowerOfTwo(std::vector<Complex>& data) const {
  const size_t n = data.size();
  for (size_t i = 1, j = 0; i < n; ++i) {  // j is i with its bits reversed
    size_t bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(data[i], data[j]);
  }
  for (size_t half = 1; half < n; half *= 2) {
    const size_t step = n / (2 * half);
    for (size_t first = 0; first < n; first += 2 * half) {
      for (size_t k = 0; k < half; ++k) {
        const Complex w = roots_[k * step], x = data[first + half + k];
        const Complex odd(w.real() * x.real() - w.imag() * x.imag(), w.real() * x.imag() + w.imag() * x.real());
        data[first + half + k] = data[first + k] - odd;
        data[first + k] += odd;
      }
    }
  }
}

void FourierTransform::Run(std::vector<Complex>& data, bool inverse) const {
  // The inverse is the conjugate of the transform of the conjugate.
  if (inverse) {
    for (Complex& x : data) x = std::conj(x);
  }
  if (chirp_.empty()) {
    RunPowerOfTwo(data);
  } else {
    std::vector<Complex> work(static_cast<size_t>(padded_), Complex(0));
    for (int64_t k = 0; k < length_; ++k) work[k] = data[k] * chirp_[k];
    RunPowerOfTwo(work);
    for (int64_t k = 0; k < padded_; ++k) work[k] = std::conj(work[k] * transform_[k]);
    RunPowerOfTwo(work);
    const double scale = 1.0 / static_cast<double>(padded_);
    for (int64_t k = 0; k < length_; ++k) data[k] = std::conj(work[k]) * scale * chirp_[k];
  }
  if (inverse) {
    for (Complex& x : data) x = std::conj(x);
  }
}

}  // namespace weir
