// Walks the registry: which wanted operations lack a CPU kernel, a shape function or a gradient. The lists are files
// that must say exactly what is missing, so that they are seen and can only shrink. To write them anew:
//   WEIR_AUDIT_WRITE=1 audit_test
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "weir/autodiff/sweep.h"
#include "weir/client/environment.h"
#include "weir/client/gradients.h"
#include "weir/runtime/execution_plan.h"

namespace weir {
namespace {

const std::string kFolder = WEIR_SOURCE_DIR "/tests/fixtures/";

std::vector<std::string> ReadLines(const std::string& name) {
  std::vector<std::string> out;
  std::ifstream file(kFolder + name);
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line[0] != '#') out.push_back(line);
  }
  return out;
}

void Compare(const std::string& name, const std::string& about, const std::vector<std::string>& missing) {
  if (std::getenv("WEIR_AUDIT_WRITE") != nullptr) {
    std::ofstream file(kFolder + name);
    file << "# " << about << "\n";
    for (const std::string& op : missing) file << op << "\n";
  }
  EXPECT_THAT(missing, testing::UnorderedElementsAreArray(ReadLines(name))) << "update tests/fixtures/" << name;
}

TEST(Audit, EveryWantedOpIsKnown) {
  auto environment = DefaultEnvironment();
  for (const std::string& op : ReadLines("ops_wanted.txt")) EXPECT_NE(environment->ops.Find(op), nullptr) << op;
}

TEST(Audit, WantedOpsHaveKernels) {
  auto environment = DefaultEnvironment();
  std::vector<std::string> missing;
  for (const std::string& op : ReadLines("ops_wanted.txt")) {
    const OpSchema* schema = environment->ops.Find(op);
    if (schema == nullptr || IsExecutorNative(*schema) || !environment->kernels.All(op).empty()) continue;
    missing.push_back(op);
  }
  Compare("ops_without_kernel.txt", "Wanted operations that have no CPU kernel yet.", missing);
}

TEST(Audit, OpsWithKernelsHaveShapeFunctions) {
  auto environment = DefaultEnvironment();
  std::vector<std::string> missing;
  for (const OpSchema* schema : environment->ops.All()) {
    if (schema->shape_function != nullptr || schema->outputs.empty()) continue;
    if (!environment->kernels.All(schema->name).empty()) missing.push_back(schema->name);
  }
  Compare("ops_without_shape_function.txt", "Operations with a kernel whose shapes are not inferred yet.", missing);
}

// An op of the registry that says `gradient yes` has one; what nothing flows through says `gradient none`.
TEST(Audit, WantedOpsHaveGradients) {
  auto environment = DefaultEnvironment();
  const GradientRegistry& gradients = BuiltinGradients();
  std::vector<std::string> missing;
  for (const std::string& op : ReadLines("ops_wanted.txt")) {
    const OpSchema* schema = environment->ops.Find(op);
    if (schema == nullptr || schema->gradient != Gradient::kYes || IsDifferentiatedByStructure(op)) continue;
    if (gradients.KindOf(op) == GradientRegistry::Kind::kUnknown) missing.push_back(op);
  }
  Compare("ops_without_gradient.txt", "Wanted operations that TensorFlow differentiates and weir does not yet.",
          missing);
}

TEST(Audit, GradientsAreOfOpsThatHaveOne) {
  auto environment = DefaultEnvironment();
  for (const OpSchema* schema : environment->ops.All()) {
    if (schema->gradient == Gradient::kYes) continue;
    EXPECT_NE(BuiltinGradients().KindOf(schema->name), GradientRegistry::Kind::kFunction)
        << schema->name << " has a gradient, but its table does not say so";
  }
}

// A pass that joins nodes must know what waits: no stateful op may leave it open, nor one that takes a queue or an
// accumulator by reference.
TEST(Audit, StatefulOpsSayWhetherTheyWait) {
  auto environment = DefaultEnvironment();
  for (const OpSchema* schema : environment->ops.All()) {
    const bool takes_reference = std::ranges::any_of(schema->inputs, [](const ArgSchema& arg) { return arg.is_ref; });
    if (!schema->is_stateful && !takes_reference) continue;
    EXPECT_NE(schema->waiting, Waiting::kUnsaid)
        << schema->name << ": add prompt, wakes or may_wait to its table (docs/op_tables.md)";
  }
}

}  // namespace
}  // namespace weir
