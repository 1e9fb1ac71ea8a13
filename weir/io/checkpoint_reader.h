// CheckpointReader: the tensors of a checkpoint, of either format (docs/formats/checkpoint.md).
#ifndef WEIR_IO_CHECKPOINT_READER_H_
#define WEIR_IO_CHECKPOINT_READER_H_

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/export.h"
#include "weir/io/tensor_slice.h"
#include "weir/tensor/tensor.h"

namespace WEIR_PUBLIC weir {

struct CheckpointTensor {
  DType dtype = DType::kInvalid;
  Shape shape;
  std::vector<TensorSlice> slices;  // empty if it is stored whole
};

// Any number of threads at once. A damaged file gives DATA_LOSS, never a wrong value.
class CheckpointReader {
 public:
  // Of the second format if `<prefix>.index` is there, else of the first if `prefix` is a file or a pattern of files
  // ("model-?????-of-00002"). NOT_FOUND if neither.
  static StatusOr<std::unique_ptr<CheckpointReader>> Open(const std::string& prefix);
  virtual ~CheckpointReader() = default;

  const std::map<std::string, CheckpointTensor, std::less<>>& tensors() const { return tensors_; }
  // NOT_FOUND "Key <name> not found in checkpoint".
  StatusOr<const CheckpointTensor*> Find(std::string_view name) const;
  // A whole tensor, its slices joined.
  StatusOr<Tensor> Read(std::string_view name) const;
  // A part of it. INVALID_ARGUMENT if it does not lie in the tensor.
  StatusOr<Tensor> ReadSlice(std::string_view name, const TensorSlice& slice) const;
  // 1 or 2.
  virtual int format() const = 0;

 protected:
  // A stored piece: a slice of `tensor.slices`, or null for a tensor that is stored whole.
  virtual StatusOr<Tensor> ReadPiece(std::string_view name, const CheckpointTensor& tensor,
                                     const TensorSlice* slice) const = 0;

  std::map<std::string, CheckpointTensor, std::less<>> tensors_;

 private:
  StatusOr<Tensor> Assemble(std::string_view name, const CheckpointTensor& tensor, const TensorSlice& box) const;
};

// The two formats; Open chooses.
StatusOr<std::unique_ptr<CheckpointReader>> OpenBundle(const std::string& prefix);
StatusOr<std::unique_ptr<CheckpointReader>> OpenCheckpointV1(const std::string& path_or_pattern);

// The prefix of the latest checkpoint that the file `checkpoint` of a folder names.
StatusOr<std::string> LatestCheckpoint(const std::string& folder);

}  // namespace weir

#endif  // WEIR_IO_CHECKPOINT_READER_H_
