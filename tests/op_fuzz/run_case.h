// Runs one case as a client would: into a graph, through shape inference, gradients and a session.
#ifndef WEIR_TESTS_OP_FUZZ_RUN_CASE_H_
#define WEIR_TESTS_OP_FUZZ_RUN_CASE_H_

#include <memory>
#include <string>

#include "tests/op_fuzz/op_case.h"
#include "weir/graph/graph.h"
#include "weir/runtime/environment.h"

namespace weir::op_fuzz {

struct Outcome {
  Status status;          // of the step, or of what came before it
  std::string complaint;  // what is wrong though nothing crashed; empty if nothing is
};

class CaseRunner {
 public:
  CaseRunner(std::shared_ptr<Environment> environment, absl::Duration deadline);
  Outcome Run(const OpCase& node);

 private:
  std::shared_ptr<Environment> environment_;
  absl::Duration deadline_;
  Graph functions_;  // no nodes: the library that every case may call
};

}  // namespace weir::op_fuzz

#endif  // WEIR_TESTS_OP_FUZZ_RUN_CASE_H_
