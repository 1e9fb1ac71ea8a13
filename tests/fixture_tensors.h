// Tensors as the fixtures write them in JSON, and how they are compared.
#ifndef WEIR_TESTS_FIXTURE_TENSORS_H_
#define WEIR_TESTS_FIXTURE_TENSORS_H_

#include <nlohmann/json.hpp>
#include <string>

#include "weir/tensor/tensor.h"

namespace weir {

StatusOr<Tensor> TensorFromJson(const nlohmann::json& json, const std::string& folder);

struct Tolerance {
  double relative = 0;
  double absolute = 0;
};
// Empty if equal within the tolerance (floating-point and complex types; all else exactly), else what differs.
std::string Difference(const Tensor& got, const Tensor& want, const Tolerance& tolerance);

std::string ReadFixture(const std::string& path);

}  // namespace weir

#endif  // WEIR_TESTS_FIXTURE_TENSORS_H_
