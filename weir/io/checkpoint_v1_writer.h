// CheckpointV1Writer: writes a checkpoint of the first format (docs/formats/checkpoint.md).
#ifndef WEIR_IO_CHECKPOINT_V1_WRITER_H_
#define WEIR_IO_CHECKPOINT_V1_WRITER_H_

#include <memory>
#include <string>

#include "weir/io/tensor_slice.h"
#include "weir/tensor/tensor.h"

namespace weir {

// One thread at a time. The file gets its name in Finish, whole.
class CheckpointV1Writer {
 public:
  explicit CheckpointV1Writer(std::string path);
  ~CheckpointV1Writer();

  // INVALID_ARGUMENT for a slice that is there already, or of a shape or type that does not fit the tensor's others;
  // UNIMPLEMENTED for elements that cannot be stored. REQUIRES: `slice` lies in `whole` and `tensor` has its shape.
  Status Add(const std::string& name, const Shape& whole, const TensorSlice& slice, const Tensor& tensor);
  Status Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weir

#endif  // WEIR_IO_CHECKPOINT_V1_WRITER_H_
