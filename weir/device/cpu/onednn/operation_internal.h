// Operation: a primitive of oneDNN and what it takes to run it on plain tensors; made once for a shape and kept.
#ifndef WEIR_DEVICE_CPU_ONEDNN_OPERATION_INTERNAL_H_
#define WEIR_DEVICE_CPU_ONEDNN_OPERATION_INTERNAL_H_

#include <memory>
#include <span>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "weir/device/cpu/contraction.h"
#include "weir/device/cpu/onednn/library_internal.h"

namespace weir::onednn {

// How a tensor of floats lies in memory.
class MemoryDesc {
 public:
  MemoryDesc() = default;
  static MemoryDesc Strided(std::span<const int64_t> dims, std::span<const int64_t> strides);
  // As the primitive likes it best.
  static MemoryDesc Any(std::span<const int64_t> dims);
  static MemoryDesc Copy(const_dnnl_memory_desc_t desc);
  MemoryDesc(MemoryDesc&& other) noexcept : desc_(std::exchange(other.desc_, nullptr)) {}
  MemoryDesc& operator=(MemoryDesc&& other) noexcept {
    std::swap(desc_, other.desc_);
    return *this;
  }
  ~MemoryDesc();

  const_dnnl_memory_desc_t get() const { return desc_; }
  explicit operator bool() const { return desc_ != nullptr; }
  size_t bytes() const;

 private:
  dnnl_memory_desc_t desc_ = nullptr;
};

// A primitive that may be absent.
class Primitive {
 public:
  Primitive() = default;
  // Takes the description over; null, or one that makes no primitive, gives an empty one.
  explicit Primitive(dnnl_primitive_desc_t desc);
  Primitive(Primitive&& other) noexcept
      : desc_(std::exchange(other.desc_, nullptr)), handle_(std::exchange(other.handle_, nullptr)) {}
  Primitive& operator=(Primitive&& other) noexcept {
    std::swap(desc_, other.desc_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Primitive();

  explicit operator bool() const { return handle_ != nullptr; }
  dnnl_primitive_t handle() const { return handle_; }
  // True if all that oneDNN has for the case is its reference code.
  bool is_slow() const;
  MemoryDesc Wanted(dnnl_query_t query) const;

 private:
  dnnl_primitive_desc_t desc_ = nullptr;
  dnnl_primitive_t handle_ = nullptr;
};

// Attributes of a primitive: scratch memory is the caller's, so that threads may share the primitive.
class PrimitiveAttr {
 public:
  explicit PrimitiveAttr(const Epilogue& epilogue = {});
  PrimitiveAttr(const PrimitiveAttr&) = delete;
  PrimitiveAttr& operator=(const PrimitiveAttr&) = delete;
  ~PrimitiveAttr();
  const_dnnl_primitive_attr_t get() const { return attr_; }

 private:
  dnnl_primitive_attr_t attr_ = nullptr;
  dnnl_post_ops_t post_ops_ = nullptr;
};

class Operation {
 public:
  struct Argument {
    int id;              // DNNL_ARG_...
    dnnl_query_t query;  // of the layout the primitive wants; undef: the one given
    MemoryDesc given;    // the tensor's
    bool is_output = false;
  };
  // Null if the primitive is absent or slow, or a layout cannot be reached.
  static std::unique_ptr<Operation> Make(Primitive primitive, std::vector<Argument> arguments);

  // `data`: the tensors, in the order of the arguments. False if memory is short.
  bool Run(std::span<void* const> data) const;

 private:
  struct Bound {
    int id;
    MemoryDesc given, wanted;
    bool is_output;
    Primitive reorder;  // from the given layout to the wanted one, or back; absent if they are the same
    size_t at = 0;      // of its copy in the scratch memory
  };
  Operation() = default;

  Primitive primitive_;
  std::vector<Bound> arguments_;
  MemoryDesc scratchpad_;
  size_t scratch_bytes_ = 0;  // the scratchpad, then the copies
};

// The threads that one call uses: one for little work, all for much; half of them while another call is under way.
class ThreadGrant {
 public:
  ThreadGrant(const KernelContext& ctx, double operations);
  ~ThreadGrant();
  ThreadGrant(const ThreadGrant&) = delete;
  ThreadGrant& operator=(const ThreadGrant&) = delete;
  int threads() const { return threads_; }

 private:
  int threads_ = 1;
  bool is_counted_ = false;
};

using OperationKey = absl::InlinedVector<int64_t, 40>;
// Finds what was made for the key before, or makes it; null where that was impossible. A primitive is made for the
// number of threads that runs it, so that number belongs into the key.
std::shared_ptr<const Operation> FindOrMake(const OperationKey& key,
                                            absl::FunctionRef<std::unique_ptr<Operation>()> make);

}  // namespace weir::onednn

#endif  // WEIR_DEVICE_CPU_ONEDNN_OPERATION_INTERNAL_H_
