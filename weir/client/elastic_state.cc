#include "weir/client/elastic_state.h"

#include "weir/base/strings.h"
#include "weir/client/ops/array_ops.h"

namespace weir::collective {

SessionState::SessionState(ClientSession& session, std::map<std::string, int64_t> numbers)
    : session_(session), numbers_(std::move(numbers)), saved_numbers_(numbers_) {
  const Scope scope = session.scope().WithPrefix("").SubScope("elastic_state");
  std::vector<Operation> assigned;
  for (const Variable& variable : weir::Variables(session.scope().WithPrefix(""))) {
    variables_.push_back(variable);
    reads_.push_back(variable.Read(scope));
    placeholders_.push_back(ops::Placeholder(scope, variable.dtype(), {.shape = PartialShape(variable.shape())}));
    assigned.push_back(variable.Assign(scope, placeholders_.back()));
  }
  assign_ = Group(scope.WithName("assign"), assigned);
}

Status SessionState::Save() {
  WEIR_ASSIGN_OR_RETURN(saved_, session_.Run(reads_));
  saved_numbers_ = numbers_;
  return OkStatus();
}

Status SessionState::Restore() {
  if (!saved_.empty()) WEIR_RETURN_IF_ERROR(Assign(saved_));
  numbers_ = saved_numbers_;
  return OkStatus();
}

Status SessionState::Sync() {
  std::vector<Tensor> values;
  if (!reads_.empty()) {
    WEIR_ASSIGN_OR_RETURN(values, session_.Run(reads_));
  }
  // All are on their way before the first is waited for.
  std::vector<Handle> handles;
  for (size_t i = 0; i < values.size(); ++i) {
    handles.push_back(BroadcastAsync(Cat("weir/elastic/", variables_[i].name()), values[i], 0));
  }
  std::vector<int64_t> numbers;
  for (const auto& each : numbers_) numbers.push_back(each.second);
  WEIR_ASSIGN_OR_RETURN(
      Tensor common, Broadcast("weir/elastic/numbers", Tensor::Vector<int64_t>(std::span<const int64_t>(numbers)), 0));
  for (size_t i = 0; i < values.size(); ++i) {
    WEIR_ASSIGN_OR_RETURN(values[i], handles[i].Wait());
  }
  WEIR_RETURN_IF_ERROR(Assign(values));
  size_t i = 0;
  for (auto& each : numbers_) each.second = common.data<int64_t>()[i++];
  return Save();
}

Status SessionState::Assign(const std::vector<Tensor>& values) {
  ClientSession::Feeds feeds;
  for (size_t i = 0; i < values.size(); ++i) feeds.emplace_back(placeholders_[i], values[i]);
  return session_.RunTargets({assign_}, feeds);
}

}  // namespace weir::collective
