#include "weir/client/weir_c.h"

#include <algorithm>
#include <cstring>

#include "weir/client/builtin_kernels.h"
#include "weir/client/saved_model.h"
#include "weir/device/cpu/cpu_device.h"
#include "weir/device/cpu/rewrites/register.h"
#include "weir/ops/op_tables.h"

struct weir_model {
  std::unique_ptr<weir::LoadedModel> model;
};

struct weir_outputs {
  std::map<std::string, weir::Tensor> values;
  std::vector<weir_tensor> tensors;
};

namespace weir {
namespace {

void WriteError(const Status& status, char* error, size_t size) {
  if (error == nullptr || size == 0) return;
  const std::string text = Message(status);
  const size_t count = std::min(text.size(), size - 1);
  std::memcpy(error, text.data(), count);
  error[count] = '\0';
}

// Only what running models needs is named, so that a linker leaves the rest of the client out.
StatusOr<std::unique_ptr<LoadedModel>> LoadForC(const char* folder) {
  if (folder == nullptr) return InvalidArgument("the folder is NULL");
  auto environment = std::make_shared<Environment>();
  WEIR_RETURN_IF_ERROR(RegisterBuiltinOps(environment->ops));
  RegisterBuiltinKernels(environment->kernels);
  RegisterCpuRewrites(environment->rewrites);
  environment->devices.Add(MakeCpuDevice(environment->task_name, 0));
  return LoadedModel::Load(folder, {"serve"}, environment);
}

StatusOr<Tensor> FromC(const weir_tensor& tensor) {
  if (tensor.name == nullptr || tensor.rank < 0 || (tensor.rank > 0 && tensor.dims == nullptr)) {
    return InvalidArgument("an input has no name or no dimensions");
  }
  if (!IsValidDType(tensor.dtype) || !IsPlain(static_cast<DType>(tensor.dtype))) {
    return InvalidArgument("input '", tensor.name, "' has type ", tensor.dtype, ", which has no C form");
  }
  WEIR_ASSIGN_OR_RETURN(Shape shape, Shape::Make({tensor.dims, static_cast<size_t>(tensor.rank)}));
  WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(static_cast<DType>(tensor.dtype), shape));
  if (out.num_bytes() != tensor.bytes || (tensor.bytes > 0 && tensor.data == nullptr)) {
    return InvalidArgument("input '", tensor.name, "' has ", tensor.bytes, " bytes, but its shape needs ",
                           out.num_bytes());
  }
  if (tensor.bytes > 0) std::memcpy(out.raw_data(), tensor.data, tensor.bytes);
  return out;
}

StatusOr<std::unique_ptr<weir_outputs>> RunForC(weir_model* model, const char* signature, const weir_tensor* inputs,
                                                size_t num_inputs) {
  if (model == nullptr || (inputs == nullptr && num_inputs > 0))
    return InvalidArgument("the model or its inputs are NULL");
  std::map<std::string, Tensor> named;
  for (size_t i = 0; i < num_inputs; ++i) {
    WEIR_ASSIGN_OR_RETURN(Tensor value, FromC(inputs[i]));
    named[inputs[i].name] = std::move(value);
  }
  auto out = std::make_unique<weir_outputs>();
  WEIR_ASSIGN_OR_RETURN(out->values, model->model->Run(signature != nullptr ? signature : "serving_default", named));
  for (const auto& [name, value] : out->values) {
    if (!IsPlain(value.dtype())) return Unimplemented("output '", name, "' has a type without a C form");
    out->tensors.push_back({name.c_str(), static_cast<int32_t>(value.dtype()), value.rank(),
                            value.shape().dims().data(), value.raw_data(), value.num_bytes()});
  }
  return out;
}

}  // namespace
}  // namespace weir

extern "C" {

weir_model* weir_load(const char* folder, char* error, size_t error_size) {
  auto model = weir::LoadForC(folder);
  if (model.ok()) return new weir_model{*std::move(model)};
  weir::WriteError(model.status(), error, error_size);
  return nullptr;
}

weir_outputs* weir_run(weir_model* model, const char* signature, const weir_tensor* inputs, size_t num_inputs,
                       char* error, size_t error_size) {
  auto outputs = weir::RunForC(model, signature, inputs, num_inputs);
  if (outputs.ok()) return outputs->release();
  weir::WriteError(outputs.status(), error, error_size);
  return nullptr;
}

size_t weir_num_outputs(const weir_outputs* outputs) { return outputs != nullptr ? outputs->tensors.size() : 0; }
const weir_tensor* weir_output(const weir_outputs* outputs, size_t index) {
  return index < weir_num_outputs(outputs) ? &outputs->tensors[index] : nullptr;
}
void weir_free_outputs(weir_outputs* outputs) { delete outputs; }
void weir_free_model(weir_model* model) { delete model; }

}  // extern "C"
