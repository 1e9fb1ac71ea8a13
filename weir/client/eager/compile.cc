#include "weir/client/eager/compile.h"

#include <map>

#include "weir/client/eager_execute_internal.h"
#include "weir/client/op_call.h"
#include "weir/client/tracer_internal.h"

namespace weir::eager {
namespace {

// More shapes than this of arguments with the same types: one trace for all that follow.
constexpr int kMostShapes = 8;

// Which variables a body reads.
class ReadVariables : public VariableWatcher {
 public:
  ReadVariables() { ThisEagerThread().watchers.push_back(this); }
  ~ReadVariables() override { std::erase(ThisEagerThread().watchers, this); }
  void OnRead(const EagerTensor& handle) override {
    for (const EagerTensor& known : handles) {
      if (known.id() == handle.id()) return;
    }
    handles.push_back(handle);
  }
  std::vector<EagerTensor> handles;
};

}  // namespace

const Scope& TraceScope() { return *TracedScope(); }
bool IsTracing() { return TracedScope() != nullptr; }

struct Traces::Trace {
  TracedFunction traced;
  std::vector<EagerTensor> variables;  // handles of the trainable ones that it reads
};

struct Traces::State {
  std::string name;
  mutable absl::Mutex mu;
  std::map<std::string, std::shared_ptr<const Trace>> traces ABSL_GUARDED_BY(mu);  // by types and shapes
  std::map<std::string, int> shapes ABSL_GUARDED_BY(mu);                           // how many, by types
};

Traces::Traces(std::string name) : state_(std::make_unique<State>()) { state_->name = std::move(name); }
Traces::~Traces() = default;

int Traces::count() const {
  absl::MutexLock lock(&state_->mu);
  return static_cast<int>(state_->traces.size());
}

StatusOr<std::shared_ptr<const Traces::Trace>> Traces::Make(const std::vector<PartialShape>& shapes,
                                                            const std::vector<EagerTensor>& arguments,
                                                            const Body& body) const {
  std::vector<ArgumentSpec> specs;
  for (size_t i = 0; i < arguments.size(); ++i) specs.push_back({arguments[i].dtype(), shapes[i]});
  auto trace = std::make_shared<Trace>();
  ReadVariables reads;
  WEIR_ASSIGN_OR_RETURN(trace->traced, TraceFunction(state_->name, specs, body));
  trace->variables = std::move(reads.handles);
  return trace;
}

StatusOr<std::shared_ptr<const Traces::Trace>> Traces::Find(const std::vector<EagerTensor>& arguments,
                                                            const Body& body) {
  std::string types, key;
  std::vector<PartialShape> shapes;
  for (size_t i = 0; i < arguments.size(); ++i) {
    WEIR_RETURN_IF_ERROR(arguments[i].status());
    if (!arguments[i].has_value()) return InvalidArgument("argument ", i, " of '", state_->name, "' has no value");
    shapes.push_back(arguments[i].shape());
    types += Cat(Name(arguments[i].dtype()), ",");
    key += Cat(shapes.back().ToString(), ",");
  }
  const std::string any = Cat(types, "*");
  key = Cat(types, key);
  {
    absl::MutexLock lock(&state_->mu);
    auto found = state_->traces.find(key);
    if (found == state_->traces.end() && state_->shapes[types] >= kMostShapes) {
      key = any;
      found = state_->traces.find(key);
      shapes.assign(arguments.size(), PartialShape());
    }
    if (found != state_->traces.end()) return found->second;
  }
  // Without the lock: the body may call this function again.
  WEIR_ASSIGN_OR_RETURN(std::shared_ptr<const Trace> made, Make(shapes, arguments, body));
  absl::MutexLock lock(&state_->mu);
  auto [found, fresh] = state_->traces.try_emplace(key, std::move(made));
  if (fresh) ++state_->shapes[types];
  return found->second;
}

std::vector<EagerTensor> Traces::Call(const std::vector<EagerTensor>& arguments, const Body& body) {
  StatusOr<std::shared_ptr<const Trace>> trace = Find(arguments, body);
  if (!trace.ok()) return {EagerTensor::Error(trace.status())};
  for (VariableWatcher* watcher : ThisEagerThread().watchers) {
    for (const EagerTensor& handle : (*trace)->variables) watcher->OnRead(handle);
  }
  const TracedFunction& traced = (*trace)->traced;
  std::vector<EagerTensor> inputs = arguments;
  inputs.insert(inputs.end(), traced.captures.begin(), traced.captures.end());
  EagerCall call;
  return call.List(OpCall(call.scope(), traced.is_stateful ? "StatefulPartitionedCall" : "PartitionedCall")
                       .Add(InputList(inputs))
                       .Set("Tout", traced.types)
                       .Set("f", traced.function)
                       .List(0));
}

}  // namespace weir::eager
