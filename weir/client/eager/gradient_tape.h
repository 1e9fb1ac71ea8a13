// GradientTape: records the operations of this thread, so that they can be differentiated.
//
//   GradientTape tape;
//   EagerTensor loss = eager::Mean(eager::Square(eager::MatMul(x, w) - y), {0, 1});
//   std::vector<EagerTensor> gradients = tape.Gradients({loss}, {w});
//
// It records from its beginning to its end, or until Stop() or, unless it is persistent, the first gradient. Variables
// that are trainable are watched by themselves, other tensors when asked for. Tapes nest: what an inner one computes is
// recorded by the outer ones, which gives second derivatives. Inside a function that is traced (compile.h) the
// gradients become nodes of its graph.
#ifndef WEIR_CLIENT_EAGER_GRADIENT_TAPE_H_
#define WEIR_CLIENT_EAGER_GRADIENT_TAPE_H_

#include <functional>
#include <memory>
#include <vector>

#include "weir/base/export.h"
#include "weir/client/eager/variable.h"

namespace WEIR_PUBLIC weir {

// Nothing, a tensor, or rows of one (of a variable that is gathered from): row indices[i] of a tensor of shape
// `dense_shape` gets values[i].
struct EagerGradient {
  EagerTensor dense;
  EagerTensor values;
  EagerTensor indices;
  EagerTensor dense_shape;
  bool is_none() const { return ok() && !dense.has_value() && !values.has_value(); }
  bool is_sparse() const { return values.has_value(); }
  bool ok() const { return dense.ok(); }
  // As a tensor; empty if it is none.
  EagerTensor ToDense() const;
};

// What a gradient is taken by.
class GradientSource {
 public:
  GradientSource(const EagerTensor& tensor) : tensor_(tensor) {}
  GradientSource(const eager::Variable& variable) : tensor_(variable.handle()) {}
  const EagerTensor& tensor() const { return tensor_; }  // a variable's handle

 private:
  EagerTensor tensor_;
};

struct TapeOptions {
  bool persistent = false;  // gives gradients more than once
  bool watch_variables = true;
};

struct GradientRequest {
  std::vector<EagerTensor> target_gradients;  // weights of the targets; empty: ones
  bool zeros_if_unconnected = false;          // instead of nothing
};

class GradientTape {
 public:
  explicit GradientTape(const TapeOptions& options = {});
  ~GradientTape();
  GradientTape(const GradientTape&) = delete;

  void Watch(const GradientSource& source);
  // Records nothing from now on, or while a Pause lives.
  void Stop();
  class Pause {
   public:
    explicit Pause(GradientTape& tape);
    ~Pause();
    Pause(const Pause&) = delete;

   private:
    GradientTape& tape_;
    const bool was_recording_;
  };
  // Forgets all that was recorded and watched.
  void Reset();

  // The derivative of the sum of the targets by each source; a tensor without a value where nothing depends on the
  // source. All hold the error if there was one: NOT_FOUND if an operation has no gradient, FAILED_PRECONDITION if the
  // tape has given its one gradient already.
  std::vector<EagerTensor> Gradients(const std::vector<EagerTensor>& targets,
                                     const std::vector<GradientSource>& sources, const GradientRequest& request = {});
  EagerTensor Gradient(const EagerTensor& target, const GradientSource& source);
  // The same; gradients of variables that were gathered from stay sparse.
  std::vector<EagerGradient> SparseGradients(const std::vector<EagerTensor>& targets,
                                             const std::vector<GradientSource>& sources,
                                             const GradientRequest& request = {});
  // Of shape target.shape + source.shape; one gradient an element of the target.
  EagerTensor Jacobian(const EagerTensor& target, const GradientSource& source);

 private:
  class Recording;
  void SetRecording(bool recording);
  StatusOr<std::vector<EagerGradient>> Differentiate(const std::vector<EagerTensor>& targets,
                                                     const std::vector<GradientSource>& sources,
                                                     const GradientRequest& request);
  Status BeginGradient();

  const TapeOptions options_;
  std::unique_ptr<Recording> recording_;
  bool is_recording_ = false;
  bool is_used_up_ = false;
};

namespace eager {

// Runs `function`, whose gradient is `backward`: it is given the inputs, the results and what flows into them, and
// gives what flows on to each input. Tapes do not look into either.
std::vector<EagerTensor> CustomGradient(
    const std::vector<EagerTensor>& inputs,
    const std::function<std::vector<EagerTensor>(const std::vector<EagerTensor>& inputs)>& function,
    const std::function<std::vector<EagerTensor>(const std::vector<EagerTensor>& inputs,
                                                 const std::vector<EagerTensor>& outputs,
                                                 const std::vector<EagerTensor>& gradients)>& backward);

}  // namespace eager
}  // namespace weir

#endif  // WEIR_CLIENT_EAGER_GRADIENT_TAPE_H_
