#include "weir/client/nn/shared_variables.h"

#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "weir/base/strings.h"
#include "weir/client/ops/state_ops.h"

namespace weir::nn {
namespace {

constexpr absl::Duration kLookEvery = absl::Milliseconds(100);
constexpr size_t kMostNames = 5;  // in an error

}  // namespace

Status InitializeShared(ClientSession& session, const Scope& scope, const std::vector<Variable>& variables,
                        const distribute::ParameterServers& servers) {
  if (variables.empty()) return session.Update();
  const Scope inside = scope.SubScope("is_initialized");
  std::vector<Output> flags;
  for (const Variable& variable : variables) flags.push_back(ops::VarIsInitializedOp(inside, variable.handle()));
  const absl::Time deadline = absl::Now() + servers.ready_timeout;
  while (true) {
    WEIR_ASSIGN_OR_RETURN(const std::vector<Tensor> values, session.Run(flags));
    std::vector<Operation> initializers;
    std::vector<std::string> names;
    for (size_t i = 0; i < variables.size(); ++i) {
      if (values[i].scalar<bool>()) continue;
      initializers.push_back(variables[i].initializer());
      names.push_back(variables[i].name());
    }
    if (names.empty()) return OkStatus();
    if (servers.worker == 0) return session.RunTargets(initializers);
    if (absl::Now() > deadline) {
      const size_t missing = names.size();
      if (missing > kMostNames) names.resize(kMostNames);
      return DeadlineExceeded("For ", absl::FormatDuration(servers.ready_timeout), " the chief has not initialized ",
                              absl::StrJoin(names, ", "),
                              missing > kMostNames ? Cat(" and ", missing - kMostNames, " more") : "");
    }
    absl::SleepFor(kLookEvery);
  }
}

}  // namespace weir::nn
