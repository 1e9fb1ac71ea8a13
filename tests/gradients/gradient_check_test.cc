// Every row: symbolic against numeric Jacobian.
#include <gtest/gtest.h>

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
TEST(GradientCheck, Reductions) { Check(gradient_rows::Reductions()); }
TEST(GradientCheck, Array) { Check(gradient_rows::Array()); }
TEST(GradientCheck, Nn) { Check(gradient_rows::Nn()); }
TEST(GradientCheck, Image) { Check(gradient_rows::Image()); }
TEST(GradientCheck, Sparse) { Check(gradient_rows::Sparse()); }
TEST(GradientCheck, Rearranged) { Check(gradient_rows::Rearranged()); }
TEST(GradientCheck, Linalg) { Check(gradient_rows::Linalg()); }
TEST(GradientCheck, Sequences) { Check(gradient_rows::Sequences()); }

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
