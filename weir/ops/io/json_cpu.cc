// DecodeJSONExample: examples in protobuf's JSON form.
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/type_resolver_util.h>

#include "weir/framework/kernel_registry.h"
#include "weir/ops/io/register.h"
#include "weir/proto/example.pb.h"

namespace weir {
namespace {

// Deeper text than any example has; the parser calls itself for every level.
constexpr int kMaxDepth = 64;

int NestingOf(std::string_view json) {
  int depth = 0, deepest = 0;
  bool quoted = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      deepest = std::max(deepest, ++depth);
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return deepest;
}

class DecodeJsonExampleKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit&) {
    auto kernel = std::make_unique<DecodeJsonExampleKernel>();
    kernel->resolver_.reset(google::protobuf::util::NewTypeResolverForDescriptorPool(
        "type.googleapis.com", Example::descriptor()->file()->pool()));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor texts = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, texts.shape()));
    for (int64_t i = 0; i < texts.num_elements(); ++i) {
      const std::string& json = texts.data<std::string>()[i];
      if (NestingOf(json) > kMaxDepth) return InvalidArgument("Error while parsing JSON: nested too deeply");
      const auto status = google::protobuf::util::JsonToBinaryString(
          resolver_.get(), "type.googleapis.com/weir.Example", json, out->data<std::string>() + i);
      if (!status.ok()) return InvalidArgument("Error while parsing JSON: ", status.message().ToString());
    }
    return OkStatus();
  }

 private:
  std::unique_ptr<google::protobuf::util::TypeResolver> resolver_;
};

}  // namespace

void RegisterJsonKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("DecodeJSONExample"), MakeKernel<DecodeJsonExampleKernel>);
}

}  // namespace weir
