// device LIBRARY: runs a graph on the device that the library brings.
#include <cstdio>

#include "weir/weir.h"

namespace {

using namespace weir;

Status Run(const std::string& library) {
  WEIR_ASSIGN_OR_RETURN(auto environment, MakeEnvironment({.libraries = {library}}));
  Scope root = Scope::NewRoot(environment);
  Output x = ops::Placeholder(root, DType::kFloat);
  Output y = ops::Mul(root.WithDevice("/device:FAR:0"), x, x);
  WEIR_ASSIGN_OR_RETURN(auto session, ClientSession::Create(root));
  WEIR_ASSIGN_OR_RETURN(std::vector<Tensor> outputs, session->Run({{x, Tensor::Scalar(3.0f)}}, {y}));
  if (outputs[0].scalar<float>() != 9) return Internal("3 * 3 is ", outputs[0].ToString());
  return OkStatus();
}

}  // namespace

int main(int, char** argv) {
  const Status status = Run(argv[1]);
  std::puts(status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
