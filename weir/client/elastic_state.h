// The state of an elastic job (weir/collective/elastic.h) that trains a graph: a session's variables and numbers of the
// program.
//
//   collective::SessionState state(model.session(), {{"epoch", 0}});
//   collective::RunElastic(state, [&] {
//     nn::FitOptions options{.epochs = 10, .first_epoch = state.number("epoch")};
//     options.callbacks = {nn::callback::CommitState(state, {.every_batches = 100, .epoch = "epoch"})};
//     return model.Fit(my_part_of_the_data, options).status();
//   });
#ifndef WEIR_CLIENT_ELASTIC_STATE_H_
#define WEIR_CLIENT_ELASTIC_STATE_H_

#include <map>
#include <string>
#include <vector>

#include "weir/base/export.h"
#include "weir/client/client_session.h"
#include "weir/client/variable.h"
#include "weir/collective/elastic.h"

namespace WEIR_PUBLIC weir {
namespace collective {

class SessionState : public ElasticState {
 public:
  // All variables that the session's graph has now; they must be initialized. The session must outlive the state.
  explicit SessionState(ClientSession& session, std::map<std::string, int64_t> numbers = {});

  // REQUIRES: the name is one of those given.
  int64_t number(const std::string& name) const { return numbers_.at(name); }
  void set_number(const std::string& name, int64_t value) { numbers_.at(name) = value; }

  Status Save() override;
  Status Restore() override;
  Status Sync() override;

 private:
  Status Assign(const std::vector<Tensor>& values);

  ClientSession& session_;
  std::vector<Variable> variables_;
  std::vector<Output> reads_;
  std::vector<Output> placeholders_;
  Operation assign_;
  std::map<std::string, int64_t> numbers_;
  std::vector<Tensor> saved_;  // empty before the first Save
  std::map<std::string, int64_t> saved_numbers_;
};

}  // namespace collective
}  // namespace weir

#endif  // WEIR_CLIENT_ELASTIC_STATE_H_
