// inference FOLDER [INPUT.npy]: runs a SavedModel's signature `serving_default` on a tensor (zeros without one) and
// prints what it gives. It names what it needs itself, so the linker leaves gradients, optimizers and layers out.
#include <cstdio>

#include "weir/client/builtin_kernels.h"
#include "weir/client/saved_model.h"
#include "weir/device/cpu/cpu_device.h"
#include "weir/device/cpu/rewrites/register.h"
#include "weir/ops/op_tables.h"
#include "weir/runtime/environment.h"
#include "weir/tensor/npy.h"

namespace {

using namespace weir;

// As the signature asks for, unknown sizes taken as 1.
StatusOr<Tensor> ZerosFor(const SignatureTensor& input) {
  Shape shape;
  for (int64_t size : input.shape.dims()) WEIR_RETURN_IF_ERROR(shape.AddDim(size < 0 ? 1 : size));
  return Tensor::Zeros(input.dtype, shape);
}

Status Run(const std::string& folder, const char* path) {
  auto environment = std::make_shared<Environment>();
  WEIR_RETURN_IF_ERROR(RegisterBuiltinOps(environment->ops));
  RegisterBuiltinKernels(environment->kernels);
  RegisterCpuRewrites(environment->rewrites);
  environment->devices.Add(MakeCpuDevice(environment->task_name, 0));
  WEIR_ASSIGN_OR_RETURN(auto model, LoadedModel::Load(folder, {"serve"}, environment));
  WEIR_ASSIGN_OR_RETURN(const Signature* signature, model->FindSignature("serving_default"));
  std::map<std::string, Tensor> inputs;
  for (const auto& [name, input] : signature->inputs) {
    WEIR_ASSIGN_OR_RETURN(Tensor value, path != nullptr ? ReadNpy(path) : ZerosFor(input));
    inputs[name] = std::move(value);
  }
  WEIR_ASSIGN_OR_RETURN(auto outputs, model->Run("serving_default", inputs));
  for (const auto& [name, value] : outputs) std::printf("%s: %s\n", name.c_str(), value.ToString().c_str());
  return OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: inference FOLDER [INPUT.npy]\n");
    return 2;
  }
  const Status status = Run(argv[1], argc > 2 ? argv[2] : nullptr);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
