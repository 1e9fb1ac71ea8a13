// TensorArray: an array of tensors that lives for one step, written at most once and (unless told) read once an index.
//
// The gradient array of one adds up what is written to an index; an index that its source wrote and nobody wrote to
// here reads as zeros of the source's shape.
#ifndef WEIR_OPS_QUEUE_TENSOR_ARRAY_H_
#define WEIR_OPS_QUEUE_TENSOR_ARRAY_H_

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "weir/framework/resource.h"
#include "weir/tensor/variant.h"

namespace weir {

// Thread-safe.
class TensorArray : public Resource {
 public:
  static constexpr std::string_view kTypeName = "N10tensorflow11TensorArrayE";
  static constexpr std::string_view kContainer = "_tensor_arrays";
  static constexpr std::string_view kGradContainer = "_tensor_array_grads";
  static constexpr int64_t kMaxSize = int64_t{1} << 26;

  struct Options {
    DType dtype = DType::kInvalid;
    PartialShape element_shape;
    bool identical_element_shapes = false;
    bool dynamic_size = false;
    bool clear_after_read = true;
  };

  TensorArray(std::string name, Options options, int64_t size);
  // The gradient array of `source`, which from now on keeps its size. INVALID_ARGUMENT if it can have none.
  static StatusOr<std::shared_ptr<TensorArray>> MakeGradient(std::string name, TensorArray& source,
                                                             const Shape& shape_to_prepend);

  std::string_view type_name() const override { return kTypeName; }
  std::string DebugString() const override { return "TensorArray[" + name_ + "]"; }
  DType dtype() const { return options_.dtype; }
  // By this name the step has it, and errors show it.
  const std::string& name() const { return name_; }
  bool is_gradient() const { return is_gradient_; }

  // `arithmetic` does what is done to elements, where they are.
  Status Write(int64_t index, const Tensor& value, TensorArithmetic& arithmetic);
  // All or, after an error, those before it.
  Status WriteMany(std::span<const int32_t> indices, const std::vector<Tensor>& values, TensorArithmetic& arithmetic);
  StatusOr<Tensor> Read(int64_t index, TensorArithmetic& arithmetic);
  StatusOr<std::vector<Tensor>> ReadMany(std::span<const int32_t> indices, TensorArithmetic& arithmetic);
  StatusOr<int64_t> Size();
  // The size that packs and concats see: of a gradient, the one its source had when it was packed or unpacked.
  StatusOr<int64_t> PackSize();
  // Remembers the size for a gradient's PackSize.
  void MarkSize(int64_t size);
  bool dynamic_size() const;
  // Elements must be of this shape too.
  Status MergeElementShape(const PartialShape& shape);
  void Close();

 private:
  struct Element {
    Tensor value;
    Shape shape;  // of what was written; stays when the value is cleared
    bool written = false;
    bool read = false;
    bool cleared = false;
  };
  Status CheckOpenLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Status WriteLocked(int64_t index, const Tensor& value, TensorArithmetic& arithmetic)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  StatusOr<Tensor> ReadLocked(int64_t index, TensorArithmetic& arithmetic) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Status AggregateLocked(Element& element, int64_t index, const Tensor& value, TensorArithmetic& arithmetic)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::string name_;
  bool is_gradient_ = false;
  mutable absl::Mutex mu_;
  Options options_;  // element_shape and dynamic_size under mu_
  int64_t marked_size_ ABSL_GUARDED_BY(mu_) = 0;
  bool gradients_disallowed_ ABSL_GUARDED_BY(mu_) = false;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<Element> elements_ ABSL_GUARDED_BY(mu_);
};

}  // namespace weir

#endif  // WEIR_OPS_QUEUE_TENSOR_ARRAY_H_
