// What the stand-ins of NVIDIA's libraries share: work in stream order on the memory of the emulated driver, and
// elements of any type read and written as double precision numbers.
#ifndef TESTS_CUDA_EMULATOR_LIBRARIES_EMULATOR_H_
#define TESTS_CUDA_EMULATOR_LIBRARIES_EMULATOR_H_

#include <bit>
#include <complex>
#include <cstdint>
#include <functional>
#include <utility>

namespace weir::cuda_emulator {

// The address in the host's memory of a device pointer; null for null or a pointer that is no device memory.
void* HostAddress(const void* device_pointer);

// Runs the function when the stream comes to it. False if the emulated driver refuses.
bool Enqueue(void* stream, std::function<void()> work);

template <typename T>
T* HostPointer(const void* device_pointer) {
  return static_cast<T*>(HostAddress(device_pointer));
}

inline float BfloatToFloat(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }
inline uint16_t FloatToBfloat(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if (value != value) return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

// A bfloat16 number in memory.
struct Bfloat16 {
  Bfloat16() = default;
  explicit Bfloat16(double value) : bits(FloatToBfloat(static_cast<float>(value))) {}
  explicit operator double() const { return BfloatToFloat(bits); }
  uint16_t bits;
};

enum class Element { kFloat, kDouble, kHalf, kBfloat16, kInt8, kInt32, kComplex64, kComplex128 };

// Calls function with a value of the element's C++ type.
template <typename Function>
decltype(auto) WithElement(Element element, Function&& function) {
  switch (element) {
    case Element::kFloat:
      return function(float{});
    case Element::kDouble:
      return function(double{});
    case Element::kHalf:
      return function(_Float16{});
    case Element::kBfloat16:
      return function(Bfloat16{});
    case Element::kInt8:
      return function(int8_t{});
    case Element::kInt32:
      return function(int32_t{});
    case Element::kComplex64:
      return function(std::complex<float>{});
    case Element::kComplex128:
      break;
  }
  return function(std::complex<double>{});
}

template <typename To, typename From>
To Convert(const From& value) {
  if constexpr (requires { value.imag(); }) {
    if constexpr (requires(To to) { to.imag(); }) {
      return To(static_cast<typename To::value_type>(value.real()), static_cast<typename To::value_type>(value.imag()));
    } else {
      return static_cast<To>(value.real());
    }
  } else {
    return static_cast<To>(static_cast<double>(value));
  }
}

// Reads element `index` of an array of host memory as Wide: double or std::complex<double>.
template <typename Wide>
Wide LoadElement(Element element, const void* array, int64_t index) {
  return WithElement(element,
                     [&](auto sample) { return Convert<Wide>(static_cast<const decltype(sample)*>(array)[index]); });
}

template <typename Wide>
void StoreElement(Element element, void* array, int64_t index, Wide value) {
  WithElement(element,
              [&](auto sample) { static_cast<decltype(sample)*>(array)[index] = Convert<decltype(sample)>(value); });
}

}  // namespace weir::cuda_emulator

// Exported by a stand-in, as the real library does.
#define WEIR_EXPORT extern "C" __attribute__((visibility("default")))
// Checks that a stand-in's function has the signature that weir calls it by.
#define WEIR_CHECK_SIGNATURE(type, name, symbol, parameters) \
  static_assert(std::is_same_v<decltype(&symbol), type(*) parameters>);

#endif  // TESTS_CUDA_EMULATOR_LIBRARIES_EMULATOR_H_
