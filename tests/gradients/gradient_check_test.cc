// Every row: symbolic against numeric Jacobian.
#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

#include "gradient_rows.h"
#include "weir/client/environment.h"
#include "weir/client/gradients.h"
#include "weir/runtime/session.h"

namespace weir {
namespace {

class SessionRunner : public GraphRunner {
 public:
  Status Load(const Graph& graph) override {
    WEIR_ASSIGN_OR_RETURN(session_, Session::Create(DefaultEnvironment()));
    return session_->Extend(graph);
  }
  StatusOr<std::vector<Tensor>> Run(const std::vector<std::pair<std::string, Tensor>>& feeds,
                                    const std::vector<std::string>& fetches) override {
    std::vector<Tensor> out;
    WEIR_RETURN_IF_ERROR(session_->Run(feeds, fetches, {}, &out));
    return out;
  }

 private:
  std::unique_ptr<Session> session_;
};

void Check(const std::vector<GradientCase>& rows) {
  SessionRunner runner;
  for (size_t i = 0; i < rows.size(); ++i) {
    Status status = CheckGradient(rows[i], DefaultEnvironment()->ops, BuiltinGradients(), runner);
    EXPECT_TRUE(status.ok()) << "row " << i << ": " << status;
  }
}

TEST(GradientCheck, Math) { Check(gradient_rows::Math()); }
TEST(GradientCheck, Products) { Check(gradient_rows::Products()); }
TEST(GradientCheck, Reductions) { Check(gradient_rows::Reductions()); }
TEST(GradientCheck, Array) { Check(gradient_rows::Array()); }
TEST(GradientCheck, Nn) { Check(gradient_rows::Nn()); }
TEST(GradientCheck, Image) { Check(gradient_rows::Image()); }
TEST(GradientCheck, Sparse) { Check(gradient_rows::Sparse()); }
TEST(GradientCheck, Rearranged) { Check(gradient_rows::Rearranged()); }
TEST(GradientCheck, Linalg) { Check(gradient_rows::Linalg()); }
TEST(GradientCheck, Sequences) { Check(gradient_rows::Sequences()); }

bool HasKernel(const OpSchema& schema, const std::string& attr, DType type) {
  const std::optional<AttrList>& allowed = schema.FindAttr(attr)->allowed;
  if (allowed.has_value() && std::ranges::find(allowed->type, type) == allowed->type.end()) return false;
  return std::ranges::any_of(DefaultEnvironment()->kernels.All(schema.name), [&](const KernelEntry* kernel) {
    return kernel->device_type == "CPU" && std::ranges::all_of(kernel->constraints, [&](const auto& constraint) {
             return constraint.attr != attr || std::ranges::find(constraint.types, type) != constraint.types.end();
           });
  });
}

// Whether the op has a kernel for numbers of the type, and its schema allows them.
bool Takes(const GradientCase& row, DType type) {
  std::shared_ptr<Environment> environment = DefaultEnvironment();
  const OpSchema* schema = environment->ops.LookUp(row.op).value();
  for (const ArgSchema& arg : schema->inputs) {
    if (arg.type_attr.empty()) continue;
    size_t at = static_cast<size_t>(&arg - schema->inputs.data());
    if (at < row.inputs.size() && row.inputs[at].of_type) return HasKernel(*schema, arg.type_attr, type);
  }
  return false;
}

// What TensorFlow differentiates in float and double alone, though the ops take narrower types.
constexpr std::string_view kWideOnly[] = {"Digamma", "Igamma", "Igammac", "ResizeBicubic"};

void CheckNarrow(const std::vector<GradientCase>& rows, int* checked) {
  SessionRunner runner;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!CanNarrow(rows[i])) continue;
    for (DType type : {DType::kFloat, DType::kHalf, DType::kBFloat16}) {
      if (!Takes(rows[i], type) || !Takes(rows[i], DType::kDouble)) continue;
      if (type != DType::kFloat && std::ranges::find(kWideOnly, rows[i].op) != std::end(kWideOnly)) continue;
      Status status = CheckNarrowGradient(rows[i], type, DefaultEnvironment()->ops, BuiltinGradients(), runner);
      EXPECT_TRUE(status.ok()) << "row " << i << ", " << Name(type) << ": " << status;
      ++*checked;
    }
  }
}

TEST(GradientCheck, NarrowTypes) {
  int checked = 0;
  for (const auto& rows : {gradient_rows::Math(), gradient_rows::Products(), gradient_rows::Reductions(),
                           gradient_rows::Array(), gradient_rows::Nn(), gradient_rows::Image(), gradient_rows::Sparse(),
                           gradient_rows::Rearranged(), gradient_rows::Linalg(), gradient_rows::Sequences()}) {
    CheckNarrow(rows, &checked);
  }
  EXPECT_GT(checked, 900);
}

// The checker must find a wrong gradient.
TEST(GradientCheck, SeesAWrongGradient) {
  GradientRegistry wrong;
  wrong.Add("Square", [](GradientContext& g) -> Gradients { return {g.grad()}; });
  SessionRunner runner;
  Status status = CheckGradient(GradientCase("Square").In({2}), DefaultEnvironment()->ops, wrong, runner);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("differences give"), std::string::npos) << status;
}

}  // namespace
}  // namespace weir
