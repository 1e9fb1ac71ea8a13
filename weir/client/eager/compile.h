// Compile: turns a C++ function written with eager functions into a graph function.
//
//   auto step = eager::Compile([&](EagerTensor x, EagerTensor y) {
//     return eager::Mean(eager::Square(x * w - y), {0});
//   });
//   EagerTensor loss = step(x, y);
//
// The first call traces the C++ function: it runs once on tensors that stand for nodes, and its operations form a
// graph, which is rewritten, fused and run like any other. Later calls run that graph. The function is traced again for
// arguments of other types or shapes, and after many shapes once more for all shapes. Everything in C++ besides
// operations (conditions, loops, printing) happens during tracing only. Variables and tensors from outside become
// inputs of the function, which sees their values at the time of each call. Operations with side effects run in program
// order. Tapes can differentiate calls, and can also be used inside.
//
// Any number of threads may call it.
#ifndef WEIR_CLIENT_EAGER_COMPILE_H_
#define WEIR_CLIENT_EAGER_COMPILE_H_

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "weir/base/export.h"
#include "weir/client/eager/gradient_tape.h"

namespace WEIR_PUBLIC weir {
namespace eager {

// The part without type parameters. REQUIRES: all calls have the same body.
class Traces {
 public:
  using Body = std::function<std::vector<EagerTensor>(const std::vector<EagerTensor>& arguments)>;
  explicit Traces(std::string name);
  ~Traces();
  // After an error, one tensor that holds it.
  std::vector<EagerTensor> Call(const std::vector<EagerTensor>& arguments, const Body& body);
  // How many times the body was traced.
  int count() const;

 private:
  struct Trace;
  struct State;
  StatusOr<std::shared_ptr<const Trace>> Find(const std::vector<EagerTensor>& arguments, const Body& body);
  StatusOr<std::shared_ptr<const Trace>> Make(const std::vector<PartialShape>& shapes,
                                              const std::vector<EagerTensor>& arguments, const Body& body) const;
  std::unique_ptr<State> state_;
};

// Copies share the traces.
template <typename F>
class Compiled {
 public:
  Compiled(F function, std::string name)
      : function_(std::move(function)), traces_(std::make_shared<Traces>(std::move(name))) {}

  // Returns what F returns: an EagerTensor or a vector of them.
  template <typename... Arguments>
  auto operator()(const Arguments&... arguments) const {
    if constexpr (std::is_invocable_v<const F&, const std::vector<EagerTensor>&>) {
      static_assert(sizeof...(Arguments) <= 1);
      return Finish<decltype(function_(std::vector<EagerTensor>()))>(
          traces_->Call(arguments..., [this](const std::vector<EagerTensor>& in) { return AsVector(function_(in)); }));
    } else {
      using Result = std::invoke_result_t<const F&, decltype(ToTensor(arguments))...>;
      return Finish<Result>(traces_->Call({ToTensor(arguments)...}, [this](const std::vector<EagerTensor>& in) {
        return Apply(in, std::make_index_sequence<sizeof...(Arguments)>());
      }));
    }
  }
  int trace_count() const { return traces_->count(); }

 private:
  static EagerTensor ToTensor(const EagerTensor& tensor) { return tensor; }
  static EagerTensor ToTensor(const Tensor& tensor) { return tensor; }
  static EagerTensor ToTensor(const Variable& variable) { return variable.Read(); }
  static EagerTensor ToTensor(const Input& input) { return Constant(input); }
  static std::vector<EagerTensor> AsVector(EagerTensor tensor) { return {std::move(tensor)}; }
  static std::vector<EagerTensor> AsVector(std::vector<EagerTensor> tensors) { return tensors; }
  template <typename Result>
  static Result Finish(std::vector<EagerTensor> results) {
    if constexpr (std::is_same_v<Result, EagerTensor>) {
      return results.empty() ? EagerTensor() : results[0];
    } else {
      return results;
    }
  }
  template <size_t... I>
  std::vector<EagerTensor> Apply(const std::vector<EagerTensor>& in, std::index_sequence<I...>) const {
    return AsVector(function_(in[I]...));
  }

  F function_;
  std::shared_ptr<Traces> traces_;
};

// The names of the graph functions begin with `name`.
template <typename F>
Compiled<F> Compile(F function, std::string name = "compiled") {
  return Compiled<F>(std::move(function), std::move(name));
}

// Inside a function that is being traced: the scope of its graph, for code that needs scopes (Cond, While, layers).
// REQUIRES: IsTracing().
const Scope& TraceScope();
bool IsTracing();

}  // namespace eager
}  // namespace weir

#endif  // WEIR_CLIENT_EAGER_COMPILE_H_
