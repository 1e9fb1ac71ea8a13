// Softmax regression, the first program of TensorFlow's paper of 2015, line by line in C++: a graph built by hand,
// gradients asked for by hand, a loop of steps.
#include <cstdio>
#include <cstdlib>

#include "examples/digits/digits.h"
#include "weir/weir.h"

namespace {

using namespace weir;

Status Run(int64_t steps) {
  WEIR_ASSIGN_OR_RETURN(ExampleSet train, examples::DrawDigits(5000, /*seed=*/1));
  WEIR_ASSIGN_OR_RETURN(ExampleSet test, examples::DrawDigits(1000, /*seed=*/2));

  Scope root = Scope::NewRoot();
  Output x = ops::Placeholder(root.WithName("x"), DType::kFloat, {.shape = {-1, 28, 28, 1}});
  Output labels = ops::Placeholder(root.WithName("labels"), DType::kInt64, {.shape = {-1}});
  Variable w(root, "W", Shape({784, 10}), init::Zeros());
  Variable b(root, "b", Shape({10}), init::Zeros());
  Output y = ops::Softmax(root, ops::MatMul(root, ops::Reshape(root, x, {-1, 784}), w.value()) + b.value());

  Output chosen = ops::Sum(root, ops::OneHot(root, labels, 10, 1.0f, 0.0f) * ops::Log(root, y), {1});
  Output cross_entropy = -Mean(root, chosen);
  std::vector<Output> gradients = ops::Gradients(root, {cross_entropy}, {w, b});
  const Operation updates[] = {w.AssignSub(root, gradients[0] * 0.5), b.AssignSub(root, gradients[1] * 0.5)};
  Operation step = Group(root, updates);
  Output right = ops::Equal(root, ops::ArgMax(root, y, 1, {.output_type = DType::kInt64}), labels);
  Output accuracy = Mean(root, ops::Cast(root, right, DType::kFloat));

  WEIR_ASSIGN_OR_RETURN(auto session, ClientSession::Create(root));
  WEIR_RETURN_IF_ERROR(session->RunTargets({InitializeVariables(root)}));
  WEIR_ASSIGN_OR_RETURN(auto batches,
                        nn::TensorBatches({train.inputs}, train.labels, {.batch_size = 100, .shuffle = true}));
  nn::Batch batch;
  for (int64_t i = 0; i < steps; ++i) {
    if (i % batches->count() == 0) WEIR_RETURN_IF_ERROR(batches->Start(i));
    WEIR_RETURN_IF_ERROR(batches->Next(&batch).status());
    WEIR_ASSIGN_OR_RETURN(std::vector<Tensor> out,
                          session->Run({{x, batch.inputs[0]}, {labels, batch.labels}}, {cross_entropy}, {step}));
    if (i % 50 == 0) std::printf("step %3lld: loss %.3f\n", static_cast<long long>(i), out[0].scalar<float>());
  }
  WEIR_ASSIGN_OR_RETURN(Tensor result, session->Evaluate(accuracy, {{x, test.inputs}, {labels, test.labels}}));
  std::printf("test accuracy %.1f%%\n", 100 * result.scalar<float>());
  return OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  Status status = TakeDeviceFlag(&argc, argv);
  if (status.ok()) status = Run(argc > 1 ? std::atoll(argv[1]) : 300);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
