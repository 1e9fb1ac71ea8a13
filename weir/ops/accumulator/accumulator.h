// Accumulator: gradients of several workers gathered into one step's.
//
// A gradient made with parameters older than the accumulator's step is dropped. A take waits until enough gradients
// have come, gives their mean or sum, and begins the next step. Takes go in the order they came; who waits holds no
// thread.
#ifndef WEIR_OPS_ACCUMULATOR_ACCUMULATOR_H_
#define WEIR_OPS_ACCUMULATOR_ACCUMULATOR_H_

#include <functional>
#include <list>
#include <memory>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "weir/base/cancellation.h"
#include "weir/framework/resource.h"

namespace weir {

struct AccumulatorSpec {
  DType dtype = DType::kInvalid;
  PartialShape shape;
  bool is_mean = true;  // else the sum
};

// Thread-safe.
class Accumulator : public Resource, public std::enable_shared_from_this<Accumulator> {
 public:
  static constexpr std::string_view kTypeName = "N10tensorflow26ConditionalAccumulatorBaseE";
  using Tensors = std::vector<Tensor>;
  // Called once, never under a lock.
  using Done = std::function<void(StatusOr<Tensors>)>;

  explicit Accumulator(AccumulatorSpec spec) : spec_(std::move(spec)) {}
  std::string_view type_name() const final { return kTypeName; }
  const AccumulatorSpec& spec() const { return spec_; }
  virtual bool is_sparse() const = 0;

  int64_t NumAccumulated() const;
  void SetGlobalStep(int64_t step);
  // Adds a gradient (dense: one tensor; sparse: indices, values, and the shape where it is known).
  Status Apply(int64_t local_step, const Tensors& gradient);
  // Gives (dense) the gradient or (sparse) indices, values and shape. A cancelled take takes nothing.
  void Take(int64_t num_required, CancellationManager& cancellation, Done done);

 protected:
  // Checks the gradient and adds it; nothing is changed if it is wrong.
  virtual Status AddLocked(const Tensors& gradient, int64_t count_before) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) = 0;
  // The result of `count` gradients; forgets them.
  virtual StatusOr<Tensors> FinishLocked(int64_t count) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) = 0;

  mutable absl::Mutex mu_;

 private:
  struct Waiter {
    int64_t id;
    int64_t num_required;
    CancellationManager* cancellation;
    CancellationManager::Token token;
    Done done;
    StatusOr<Tensors> result = Tensors();
  };
  StatusOr<Tensors> TakeLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Cancel(int64_t id, const Status& reason);

  const AccumulatorSpec spec_;
  int64_t count_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t global_step_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t next_id_ ABSL_GUARDED_BY(mu_) = 0;
  std::list<Waiter> waiters_ ABSL_GUARDED_BY(mu_);
};

std::shared_ptr<Accumulator> MakeDenseAccumulator(AccumulatorSpec spec);
std::shared_ptr<Accumulator> MakeSparseAccumulator(AccumulatorSpec spec);

// Arithmetic on tensors of floating types. REQUIRES: as many elements in each.
void AddTo(DType dtype, const void* from, void* to, int64_t count);  // to += from
void DivideBy(DType dtype, void* values, int64_t count, int64_t divisor);

}  // namespace weir

#endif  // WEIR_OPS_ACCUMULATOR_ACCUMULATOR_H_
