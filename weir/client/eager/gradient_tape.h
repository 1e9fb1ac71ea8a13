// GradientTape: records the operations of this thread, so that they can be differentiated.
//
//   GradientTape tape;
//   EagerTensor loss = eager::Mean(eager::Square(eager::MatMul(x, w) - y), {0, 1});
//   std::vector<EagerTensor> gradients = tape.Gradients({loss}, {w});
//
// It records from its construction until it is destroyed, until Stop(), or, unless it is persistent, until the first
// gradient. Trainable variables are watched automatically, other tensors on request. Tapes nest: outer tapes record the
// gradient computations of inner ones, which gives second derivatives. While a function is traced (compile.h),
// gradients become nodes of its graph.
#ifndef WEIR_CLIENT_EAGER_GRADIENT_TAPE_H_
#define WEIR_CLIENT_EAGER_GRADIENT_TAPE_H_

#include <functional>
#include <memory>
#include <vector>

#include "weir/base/export.h"
#include "weir/client/eager/variable.h"

namespace WEIR_PUBLIC weir {

// A gradient: none, dense, or sparse (for a variable that is gathered from). In a sparse gradient, values[i] belongs to
// row indices[i] of a tensor of shape `dense_shape`.
struct EagerGradient {
  EagerTensor dense;
  EagerTensor values;
  EagerTensor indices;
  EagerTensor dense_shape;
  bool is_none() const { return ok() && !dense.has_value() && !values.has_value(); }
  bool is_sparse() const { return values.has_value(); }
  bool ok() const { return dense.ok(); }
  // The gradient as a dense tensor; empty if it is none.
  EagerTensor ToDense() const;
};

// A tensor or variable with respect to which a gradient is computed.
class GradientSource {
 public:
  GradientSource(const EagerTensor& tensor) : tensor_(tensor) {}
  GradientSource(const eager::Variable& variable) : tensor_(variable.handle()) {}
  const EagerTensor& tensor() const { return tensor_; }  // the handle, for a variable

 private:
  EagerTensor tensor_;
};

struct TapeOptions {
  bool persistent = false;  // can compute gradients more than once
  bool watch_variables = true;
};

struct GradientRequest {
  std::vector<EagerTensor> target_gradients;  // weights of the targets; empty: all ones
  bool zeros_if_unconnected = false;          // instead of a tensor without a value
};

class GradientTape {
 public:
  explicit GradientTape(const TapeOptions& options = {});
  ~GradientTape();
  GradientTape(const GradientTape&) = delete;

  void Watch(const GradientSource& source);
  // Stops recording, permanently or for the lifetime of a Pause.
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
  // Discards all records and watched tensors.
  void Reset();

  // The derivative of the sum of the targets with respect to each source; a tensor without a value if no target depends
  // on the source. After an error, all of them hold it: NOT_FOUND if an operation has no gradient, FAILED_PRECONDITION
  // if the tape is not persistent and has been used.
  std::vector<EagerTensor> Gradients(const std::vector<EagerTensor>& targets,
                                     const std::vector<GradientSource>& sources, const GradientRequest& request = {});
  EagerTensor Gradient(const EagerTensor& target, const GradientSource& source);
  // The same, but gradients of variables that were gathered from stay sparse.
  std::vector<EagerGradient> SparseGradients(const std::vector<EagerTensor>& targets,
                                             const std::vector<GradientSource>& sources,
                                             const GradientRequest& request = {});
  // Has shape target.shape + source.shape; computes one gradient per element of the target.
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

// Runs `function` with a custom gradient. `backward` gets the inputs, the results and the gradients of the results, and
// returns the gradient of each input. Tapes do not record the operations of either.
std::vector<EagerTensor> CustomGradient(
    const std::vector<EagerTensor>& inputs,
    const std::function<std::vector<EagerTensor>(const std::vector<EagerTensor>& inputs)>& function,
    const std::function<std::vector<EagerTensor>(const std::vector<EagerTensor>& inputs,
                                                 const std::vector<EagerTensor>& outputs,
                                                 const std::vector<EagerTensor>& gradients)>& backward);

}  // namespace eager
}  // namespace weir

#endif  // WEIR_CLIENT_EAGER_GRADIENT_TAPE_H_
