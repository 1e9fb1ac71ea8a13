// Runs one case as a client would: into a graph, through shape inference, gradients and a session.
#ifndef WEIR_TESTS_OP_FUZZ_RUN_CASE_H_
#define WEIR_TESTS_OP_FUZZ_RUN_CASE_H_

#include <memory>
#include <string>
#include <vector>

#include "tests/op_fuzz/op_case.h"
#include "weir/graph/graph.h"
#include "weir/runtime/environment.h"

namespace weir::op_fuzz {

struct Outcome {
  Status status;          // of the step, or of what came before it
  std::string complaint;  // what is wrong though nothing crashed; empty if nothing is
  std::vector<Tensor> outputs;
  std::vector<int> fetched;  // which outputs these are
};

class CaseRunner {
 public:
  CaseRunner(std::shared_ptr<Environment> environment, absl::Duration deadline);
  Outcome Run(const OpCase& node);
  // The bytes of a GraphDef that asks somebody else the same: constants `in_*`, the node `op`, and what came out as
  // constants `out_*` and `code`. Nothing if an input is no plain value.
  std::string Question(const OpCase& node, const Outcome& outcome) const;

 private:
  std::shared_ptr<Environment> environment_;
  absl::Duration deadline_;
  Graph functions_;  // no nodes: the library that every case may call
};

}  // namespace weir::op_fuzz

#endif  // WEIR_TESTS_OP_FUZZ_RUN_CASE_H_
