// Loads an operation from a library and trains with it: finds the point of a line that is nearest to the origin.
#include <cstdio>

#include "weir/client/load_library.h"
#include "weir/client/op_call.h"
#include "weir/weir.h"

namespace {

using namespace weir;

Status Run(const std::string& library) {
  WEIR_ASSIGN_OR_RETURN(std::shared_ptr<Environment> environment, MakeEnvironment());
  WEIR_RETURN_IF_ERROR(LoadLibrary(library, environment.get()));
  Scope root = Scope::NewRoot(environment);
  // Points (t, 4 - 2 t); the nearest one is (1.6, 0.8).
  Variable t(root, "t", Input(0.0f));
  Output x = t.value(), y = 4 - 2 * t.value();
  Output distance = OpCall(root, "Hypotenuse").Add(x).Add(y).Single();
  Training training = optimizer::GradientDescent({.learning_rate = 0.2}).Minimize(root, distance);
  WEIR_ASSIGN_OR_RETURN(auto session, ClientSession::Create(root));
  WEIR_RETURN_IF_ERROR(session->RunTargets({InitializeVariables(root)}));
  for (int i = 0; i < 50; ++i) WEIR_RETURN_IF_ERROR(session->RunTargets({training.op}));
  WEIR_ASSIGN_OR_RETURN(std::vector<Tensor> out, session->Run({x, y, distance}));
  std::printf("nearest point (%.2f, %.2f), distance %.3f\n", out[0].scalar<float>(), out[1].scalar<float>(),
              out[2].scalar<float>());
  return OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: custom_op LIBRARY\n");
    return 2;
  }
  const Status status = Run(argv[1]);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
