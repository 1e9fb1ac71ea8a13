// Operation: a primitive of oneDNN and what it takes to run it on plain tensors; made once for a shape and kept.
#ifndef WEIR_DEVICE_CPU_ONEDNN_OPERATION_INTERNAL_H_
#define WEIR_DEVICE_CPU_ONEDNN_OPERATION_INTERNAL_H_

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "weir/device/cpu/contraction.h"
#include "weir/device/cpu/onednn/library_internal.h"
#include "weir/tensor/allocator.h"
#include "weir/tensor/tensor.h"

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

// Attributes of a primitive: scratch memory is the caller's, so that threads may share the primitive; operations on the
// result before it is stored.
class PrimitiveAttr {
 public:
  PrimitiveAttr();
  PrimitiveAttr(const PrimitiveAttr&) = delete;
  PrimitiveAttr& operator=(const PrimitiveAttr&) = delete;
  ~PrimitiveAttr();
  // result = result * operand, or + operand. Returns the argument that the operand becomes.
  int AppendBinary(dnnl_alg_kind_t kind, const MemoryDesc& operand);
  // result = result + what is in its place.
  void AppendSum();
  void AppendRelu();
  const_dnnl_primitive_attr_t get();

 private:
  dnnl_primitive_attr_t attr_ = nullptr;
  dnnl_post_ops_t post_ops_ = nullptr;
  int num_post_ops_ = 0;
};

// Memory of the host, freed at its end.
class Scratch {
 public:
  explicit Scratch(size_t bytes) : bytes_(bytes), data_(bytes > 0 ? CpuAllocate(bytes) : nullptr) {}
  Scratch(Scratch&& other) noexcept : bytes_(other.bytes_), data_(std::exchange(other.data_, nullptr)) {}
  Scratch& operator=(Scratch&&) = delete;
  ~Scratch() {
    if (data_ != nullptr) CpuDeallocate(data_, bytes_);
  }
  bool ok() const { return bytes_ == 0 || data_ != nullptr; }
  char* data() const { return static_cast<char*>(data_); }

 private:
  const size_t bytes_;
  void* data_;
};

// A constant, or a part of it, that is an operation's second argument.
struct ConstantPart {
  const Weights* weights = nullptr;  // null: it is no constant
  int64_t first = 0;                 // the element that the part begins with
  int index = 0, count = 1;          // which of the parts that the constant was cut into
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

  // Where the constant lies in the layout that the primitive wants; null if memory is short.
  void* FindConstant(const ConstantPart& constant) const;
  // Memory that a run needs beside its tensors.
  size_t scratch_bytes() const { return scratch_bytes_; }
  // Runs in the calling thread. `data`: the tensors, in the order of the arguments; `constant`, if not null, stands for
  // the second. REQUIRES: OneThread.
  bool Run(std::span<void* const> data, void* constant, char* scratch) const;

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

// What an epilogue adds to an operation: attributes before the primitive is made, arguments after it.
class EpilogueArguments {
 public:
  // `column`: the layout of a vector of one number a column that lines up with `result`.
  EpilogueArguments(const Epilogue& epilogue, const MemoryDesc& column, const MemoryDesc& result, PrimitiveAttr& attr);
  // Whether the bias is the primitive's own.
  bool has_own_bias() const { return own_bias_; }
  void AppendTo(std::vector<Operation::Argument>& arguments, const MemoryDesc& own_bias);
  // In the order of AppendTo.
  static void AppendData(const Epilogue& epilogue, absl::InlinedVector<void*, 8>& data);
  static int Flags(const Epilogue& epilogue);  // for the key

 private:
  bool own_bias_ = false;
  std::vector<Operation::Argument> arguments_;
};

// oneDNN's views of the tensors of one call.
class Views {
 public:
  explicit Views(const Library& library) : library_(library) {}
  ~Views() {
    for (dnnl_memory_t view : views_) library_.memory_destroy(view);
  }
  Views(const Views&) = delete;
  Views& operator=(const Views&) = delete;
  dnnl_memory_t Add(const MemoryDesc& desc, void* data) {
    dnnl_memory_t view = nullptr;
    if (library_.memory_create(&view, desc.get(), library_.engine, data) == dnnl_success) views_.push_back(view);
    return view;
  }

 private:
  const Library& library_;
  absl::InlinedVector<dnnl_memory_t, 10> views_;
};

// Streams are not for two threads at once.
dnnl_stream_t ThisThreadStream(const Library& library);
// From one layout to another; absent if there is no way.
Primitive MakeReorder(const MemoryDesc& from, const MemoryDesc& to);
bool Reorder(const Library& library, dnnl_stream_t stream, const Primitive& reorder, dnnl_memory_t from,
             dnnl_memory_t to);

using OperationKey = absl::InlinedVector<int64_t, 40>;
// Finds what was made for the key before, or makes it, for one thread; null where that was impossible.
std::shared_ptr<const Operation> FindOrMake(const OperationKey& key,
                                            absl::FunctionRef<std::unique_ptr<Operation>()> make);

}  // namespace weir::onednn

#endif  // WEIR_DEVICE_CPU_ONEDNN_OPERATION_INTERNAL_H_
