#include <cstring>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "absl/synchronization/mutex.h"
#include "weir/device/cpu/onednn/operation_internal.h"
#include "weir/device/cpu/onednn/packed_weights_internal.h"
#include "weir/tensor/allocator.h"

namespace weir::onednn {
namespace {

constexpr size_t kMaxOperations = 1024;
constexpr size_t kWeights = 1;  // which argument

size_t Aligned(size_t bytes) { return (bytes + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment; }

}  // namespace

dnnl_stream_t ThisThreadStream(const Library& library) {
  struct Stream {
    dnnl_stream_t stream = nullptr;
    ~Stream() {
      if (stream != nullptr) GetLibrary()->stream_destroy(stream);
    }
  };
  thread_local Stream own;
  if (own.stream == nullptr) library.stream_create(&own.stream, library.engine, dnnl_stream_default_flags);
  return own.stream;
}

Primitive MakeReorder(const MemoryDesc& from, const MemoryDesc& to) {
  const Library& library = *GetLibrary();
  dnnl_primitive_desc_t desc = nullptr;
  library.reorder_primitive_desc_create(&desc, from.get(), library.engine, to.get(), library.engine, nullptr);
  return Primitive(desc);
}

bool Reorder(const Library& library, dnnl_stream_t stream, const Primitive& reorder, dnnl_memory_t from,
             dnnl_memory_t to) {
  const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
  return library.primitive_execute(reorder.handle(), stream, 2, arguments) == dnnl_success;
}

MemoryDesc MemoryDesc::Strided(std::span<const int64_t> dims, std::span<const int64_t> strides) {
  MemoryDesc out;
  GetLibrary()->memory_desc_create_with_strides(&out.desc_, static_cast<int>(dims.size()), dims.data(), dnnl_f32,
                                                strides.data());
  return out;
}
MemoryDesc MemoryDesc::Any(std::span<const int64_t> dims) {
  MemoryDesc out;
  GetLibrary()->memory_desc_create_with_tag(&out.desc_, static_cast<int>(dims.size()), dims.data(), dnnl_f32,
                                            dnnl_format_tag_any);
  return out;
}
MemoryDesc MemoryDesc::Copy(const_dnnl_memory_desc_t desc) {
  MemoryDesc out;
  if (desc != nullptr) GetLibrary()->memory_desc_clone(&out.desc_, desc);
  return out;
}
MemoryDesc::~MemoryDesc() {
  if (desc_ != nullptr) GetLibrary()->memory_desc_destroy(desc_);
}
size_t MemoryDesc::bytes() const { return desc_ == nullptr ? 0 : GetLibrary()->memory_desc_get_size(desc_); }

Primitive::Primitive(dnnl_primitive_desc_t desc) : desc_(desc) {
  if (desc_ != nullptr && GetLibrary()->primitive_create(&handle_, desc_) != dnnl_success) handle_ = nullptr;
}
Primitive::~Primitive() {
  if (handle_ != nullptr) GetLibrary()->primitive_destroy(handle_);
  if (desc_ != nullptr) GetLibrary()->primitive_desc_destroy(desc_);
}
bool Primitive::is_slow() const {
  const char* name = "";
  GetLibrary()->primitive_desc_query(desc_, dnnl_query_impl_info_str, 0, &name);
  return std::string_view(name).starts_with("ref");
}
MemoryDesc Primitive::Wanted(dnnl_query_t query) const {
  return MemoryDesc::Copy(GetLibrary()->primitive_desc_query_md(desc_, query, 0));
}

PrimitiveAttr::PrimitiveAttr() {
  GetLibrary()->primitive_attr_create(&attr_);
  GetLibrary()->primitive_attr_set_scratchpad_mode(attr_, dnnl_scratchpad_mode_user);
}
PrimitiveAttr::~PrimitiveAttr() {
  if (post_ops_ != nullptr) GetLibrary()->post_ops_destroy(post_ops_);
  if (attr_ != nullptr) GetLibrary()->primitive_attr_destroy(attr_);
}
int PrimitiveAttr::AppendBinary(dnnl_alg_kind_t kind, const MemoryDesc& operand) {
  if (post_ops_ == nullptr) GetLibrary()->post_ops_create(&post_ops_);
  GetLibrary()->post_ops_append_binary(post_ops_, kind, operand.get());
  return DNNL_ARG_ATTR_MULTIPLE_POST_OP(num_post_ops_++) | DNNL_ARG_SRC_1;
}
void PrimitiveAttr::AppendSum() {
  if (post_ops_ == nullptr) GetLibrary()->post_ops_create(&post_ops_);
  GetLibrary()->post_ops_append_sum(post_ops_, 1, 0, dnnl_data_type_undef);
  ++num_post_ops_;
}
void PrimitiveAttr::AppendRelu() {
  if (post_ops_ == nullptr) GetLibrary()->post_ops_create(&post_ops_);
  GetLibrary()->post_ops_append_eltwise(post_ops_, dnnl_eltwise_relu, 0, 0);
  ++num_post_ops_;
}
const_dnnl_primitive_attr_t PrimitiveAttr::get() {
  if (post_ops_ != nullptr) GetLibrary()->primitive_attr_set_post_ops(attr_, post_ops_);
  return attr_;
}

EpilogueArguments::EpilogueArguments(const Epilogue& epilogue, const MemoryDesc& column, const MemoryDesc& result,
                                     PrimitiveAttr& attr) {
  auto add = [&](dnnl_alg_kind_t kind, const MemoryDesc& desc) {
    arguments_.push_back({attr.AppendBinary(kind, desc), dnnl_query_undef, MemoryDesc::Copy(desc.get())});
  };
  own_bias_ = epilogue.bias != nullptr && epilogue.scale == nullptr;
  if (epilogue.scale != nullptr) {
    add(dnnl_binary_mul, column);
    add(dnnl_binary_add, column);
  }
  if (epilogue.in_place) {
    attr.AppendSum();
  } else if (epilogue.addend != nullptr) {
    add(dnnl_binary_add, result);
  }
  if (epilogue.relu) attr.AppendRelu();
}
void EpilogueArguments::AppendTo(std::vector<Operation::Argument>& arguments, const MemoryDesc& own_bias) {
  if (own_bias_) arguments.push_back({DNNL_ARG_BIAS, dnnl_query_undef, MemoryDesc::Copy(own_bias.get())});
  for (Operation::Argument& argument : arguments_) arguments.push_back(std::move(argument));
}
void EpilogueArguments::AppendData(const Epilogue& epilogue, absl::InlinedVector<void*, 8>& data) {
  for (const float* part : {epilogue.scale, epilogue.bias, epilogue.in_place ? nullptr : epilogue.addend}) {
    if (part != nullptr) data.push_back(const_cast<float*>(part));
  }
}
int EpilogueArguments::Flags(const Epilogue& epilogue) {
  return (epilogue.scale != nullptr) + 2 * (epilogue.bias != nullptr) + 4 * (epilogue.addend != nullptr) +
         8 * epilogue.relu + 16 * epilogue.in_place;
}

std::unique_ptr<Operation> Operation::Make(Primitive primitive, std::vector<Argument> arguments) {
  const Library& library = *GetLibrary();
  if (!primitive || primitive.is_slow()) return nullptr;
  std::unique_ptr<Operation> out(new Operation);
  out->scratchpad_ = primitive.Wanted(dnnl_query_scratchpad_md);
  out->scratch_bytes_ = Aligned(out->scratchpad_.bytes());
  for (Argument& argument : arguments) {
    Bound bound{argument.id, std::move(argument.given), {}, argument.is_output, {}, 0};
    bound.wanted =
        argument.query == dnnl_query_undef ? MemoryDesc::Copy(bound.given.get()) : primitive.Wanted(argument.query);
    if (!bound.given || !bound.wanted) return nullptr;
    if (!library.memory_desc_equal(bound.given.get(), bound.wanted.get())) {
      const MemoryDesc& from = bound.is_output ? bound.wanted : bound.given;
      const MemoryDesc& to = bound.is_output ? bound.given : bound.wanted;
      bound.reorder = MakeReorder(from, to);
      if (!bound.reorder) return nullptr;
      bound.at = out->scratch_bytes_;
      out->scratch_bytes_ += Aligned(bound.wanted.bytes());
    }
    out->arguments_.push_back(std::move(bound));
  }
  out->primitive_ = std::move(primitive);
  return out;
}

void* Operation::FindConstant(const ConstantPart& constant) const {
  const Bound& argument = arguments_[kWeights];
  if (argument.reorder) return constant.weights->packed->Find(constant, argument.given, argument.wanted);
  const float* plain = PlainElements(*constant.weights);
  return plain == nullptr ? nullptr : const_cast<float*>(plain + constant.first);
}

bool Operation::Run(std::span<void* const> data, void* constant, char* scratch) const {
  const Library& library = *GetLibrary();
  const dnnl_stream_t stream = ThisThreadStream(library);
  if (stream == nullptr) return false;
  Views views(library);
  absl::InlinedVector<dnnl_exec_arg_t, 6> execution;
  if (scratchpad_.bytes() > 0) execution.push_back({DNNL_ARG_SCRATCHPAD, views.Add(scratchpad_, scratch)});
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const Bound& argument = arguments_[i];
    if (i == kWeights && constant != nullptr) {
      execution.push_back({argument.id, views.Add(argument.wanted, constant)});
      continue;
    }
    dnnl_memory_t view = views.Add(argument.given, data[i]);
    if (argument.reorder) {
      dnnl_memory_t copy = views.Add(argument.wanted, scratch + argument.at);
      if (!argument.is_output && !Reorder(library, stream, argument.reorder, view, copy)) return false;
      view = copy;
    }
    execution.push_back({argument.id, view});
  }
  if (library.primitive_execute(primitive_.handle(), stream, static_cast<int>(execution.size()), execution.data()) !=
      dnnl_success) {
    return false;
  }
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const Bound& argument = arguments_[i];
    if (!argument.is_output || !argument.reorder) continue;
    dnnl_memory_t from = views.Add(argument.wanted, scratch + argument.at);
    if (!Reorder(library, stream, argument.reorder, from, views.Add(argument.given, data[i]))) return false;
  }
  return true;
}

std::shared_ptr<const Operation> FindOrMake(const OperationKey& key,
                                            absl::FunctionRef<std::unique_ptr<Operation>()> make) {
  struct Cache {
    absl::Mutex mu;
    absl::flat_hash_map<OperationKey, std::shared_ptr<const Operation>> operations ABSL_GUARDED_BY(mu);
  };
  static Cache* cache = new Cache;
  {
    absl::ReaderMutexLock lock(&cache->mu);
    auto found = cache->operations.find(key);
    if (found != cache->operations.end()) return found->second;
  }
  const OneThread one_thread;
  std::shared_ptr<const Operation> made = make();
  absl::MutexLock lock(&cache->mu);
  // Rare: shapes that change all the time. What is needed again is made again.
  if (cache->operations.size() >= kMaxOperations) cache->operations.clear();
  return cache->operations.emplace(key, std::move(made)).first->second;
}

}  // namespace weir::onednn
