#include "weir/graph/function_library.h"

#include <algorithm>

#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "weir/framework/attr_proto.h"
#include "weir/graph/instantiate.h"
#include "weir/proto/graph.pb.h"

namespace weir {
namespace {

// Map fields have no order of their own; equal functions must give equal bytes.
std::string DeterministicBytes(const google::protobuf::MessageLite& message) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  message.SerializeToCodedStream(&coded);
  coded.Trim();
  return bytes;
}

bool Same(const FunctionDef& a, const FunctionDef& b) {
  return a.ByteSizeLong() == b.ByteSizeLong() && DeterministicBytes(a) == DeterministicBytes(b);
}

Status DifferentFunction(std::string_view name) {
  return InvalidArgument("Cannot add function '", name,
                         "' because a different function with the same name already exists.");
}

Status DifferentGradient(std::string_view name, std::string_view gradient, std::string_view other) {
  return InvalidArgument("Cannot assign gradient function '", gradient, "' to '", name,
                         "' because it already has gradient function '", other, "'");
}

StatusOr<std::unique_ptr<FunctionBody>> Annotated(StatusOr<std::unique_ptr<FunctionBody>> body, std::string_view name) {
  if (body.ok()) return body;
  return Annotate(body.status(), "", Cat("\n\tIn the gradient of function '", name, "'"));
}

}  // namespace

struct FunctionLibrary::Record {
  FunctionDef def;
  OpSchema schema;
  AttrMap attrs;
};

class FunctionLibrary::Staged {
 public:
  StringMap<std::unique_ptr<Record>> functions;
  StringMap<std::string> gradients;
  StringMap<std::string> registered_gradients;
};

FunctionLibrary::FunctionLibrary(const OpRegistry& ops) : ops_(ops) {}
FunctionLibrary::~FunctionLibrary() = default;

StatusOr<std::shared_ptr<FunctionLibrary::Staged>> FunctionLibrary::Stage(const FunctionDefLibrary& library) const {
  auto staged = std::make_shared<Staged>();
  for (const FunctionDef& function : library.function()) {
    const std::string& name = function.signature().name();
    if (name.empty()) return InvalidArgument("A function of the library has no name");
    if (ops_.Find(name) != nullptr) {
      return InvalidArgument("Cannot add function '", name, "' because an op with the same name already exists.");
    }
    auto [it, added] = staged->functions.try_emplace(name);
    if (!added) {
      if (!Same(it->second->def, function)) return DifferentFunction(name);
      continue;
    }
    it->second = std::make_unique<Record>();
    it->second->def = function;
    auto in_function = [&](const Status& status) { return Annotate(status, Cat("Function '", name, "': ")); };
    StatusOr<OpSchema> schema = FromProto(function.signature());
    if (!schema.ok()) return in_function(schema.status());
    it->second->schema = *std::move(schema);
    StatusOr<AttrMap> attrs = FromProto(function.attr());
    if (!attrs.ok()) return in_function(attrs.status());
    it->second->attrs = *std::move(attrs);
  }
  for (const GradientDef& gradient : library.gradient()) {
    auto [it, added] = staged->gradients.try_emplace(gradient.function_name(), gradient.gradient_func());
    if (!added && it->second != gradient.gradient_func()) {
      return DifferentGradient(gradient.function_name(), gradient.gradient_func(), it->second);
    }
  }
  for (const RegisteredGradient& gradient : library.registered_gradients()) {
    staged->registered_gradients.try_emplace(gradient.registered_op_type(), gradient.gradient_func());
  }
  absl::MutexLock lock(&mu_);
  for (const auto& [name, record] : staged->functions) {
    auto it = functions_.find(name);
    if (it != functions_.end() && !Same(it->second->def, record->def)) return DifferentFunction(name);
  }
  for (const auto& [name, gradient] : staged->gradients) {
    auto it = gradients_.find(name);
    if (it != gradients_.end() && it->second != gradient) return DifferentGradient(name, gradient, it->second);
  }
  return staged;
}

Status FunctionLibrary::Commit(std::shared_ptr<Staged> staged) {
  absl::MutexLock lock(&mu_);
  for (const auto& [name, record] : staged->functions) {
    auto it = functions_.find(name);
    if (it != functions_.end() && !Same(it->second->def, record->def)) return DifferentFunction(name);
  }
  for (auto& [name, record] : staged->functions) {
    auto [it, added] = functions_.try_emplace(name);
    if (added) {
      it->second = std::move(record);
    } else {
      duplicates_.push_back(std::move(record));
    }
  }
  for (auto& [name, gradient] : staged->gradients) gradients_.try_emplace(name, std::move(gradient));
  for (auto& [name, gradient] : staged->registered_gradients) {
    registered_gradients_.try_emplace(name, std::move(gradient));
  }
  return OkStatus();
}

const OpSchema* FunctionLibrary::FindSchema(const Staged& staged, std::string_view name) {
  auto it = staged.functions.find(name);
  return it == staged.functions.end() ? nullptr : &it->second->schema;
}

std::vector<std::string> FunctionLibrary::Remove(std::string_view name,
                                                 const std::function<bool(std::string_view)>& is_kept) {
  std::vector<std::string> removed, pending = {std::string(name)};
  std::vector<std::unique_ptr<Record>> records;  // destroyed without the lock
  absl::MutexLock lock(&mu_);
  while (!pending.empty()) {
    const std::string next = std::move(pending.back());
    pending.pop_back();
    auto it = functions_.find(next);
    if (it == functions_.end() || is_kept(next)) continue;
    for (const NodeDef& node : it->second->def.node_def()) {
      for (const auto& [key, value] : node.attr()) {
        if (value.has_func()) pending.push_back(value.func().name());
        for (const NameAttrList& function : value.list().func()) pending.push_back(function.name());
      }
    }
    records.push_back(std::move(it->second));
    functions_.erase(it);
    gradients_.erase(next);
    removed.push_back(next);
  }
  return removed;
}

Status FunctionLibrary::Add(const FunctionDef& function) {
  FunctionDefLibrary library;
  *library.add_function() = function;
  return AddLibrary(library);
}

Status FunctionLibrary::AddLibrary(const FunctionDefLibrary& library) {
  WEIR_ASSIGN_OR_RETURN(std::shared_ptr<Staged> staged, Stage(library));
  return Commit(std::move(staged));
}

void FunctionLibrary::ToProto(FunctionDefLibrary* library) const {
  absl::MutexLock lock(&mu_);
  std::vector<std::string_view> names;
  for (const auto& [name, record] : functions_) names.push_back(name);
  std::ranges::sort(names);
  for (std::string_view name : names) *library->add_function() = functions_.find(name)->second->def;
  names.clear();
  for (const auto& [name, gradient] : gradients_) names.push_back(name);
  std::ranges::sort(names);
  for (std::string_view name : names) {
    GradientDef* def = library->add_gradient();
    def->set_function_name(std::string(name));
    def->set_gradient_func(gradients_.find(name)->second);
  }
  names.clear();
  for (const auto& [name, gradient] : registered_gradients_) names.push_back(name);
  std::ranges::sort(names);
  for (std::string_view name : names) {
    RegisteredGradient* def = library->add_registered_gradients();
    def->set_registered_op_type(std::string(name));
    def->set_gradient_func(registered_gradients_.find(name)->second);
  }
}

const OpSchema* FunctionLibrary::FindSchema(std::string_view name) const {
  absl::MutexLock lock(&mu_);
  auto it = functions_.find(name);
  return it == functions_.end() ? nullptr : &it->second->schema;
}

const AttrMap* FunctionLibrary::FindAttrs(std::string_view name) const {
  absl::MutexLock lock(&mu_);
  auto it = functions_.find(name);
  return it == functions_.end() ? nullptr : &it->second->attrs;
}

std::string FunctionLibrary::FindGradient(std::string_view name) const {
  absl::MutexLock lock(&mu_);
  auto it = gradients_.find(name);
  return it == gradients_.end() ? "" : it->second;
}

std::string FunctionLibrary::FindRegisteredGradient(std::string_view op_type) const {
  absl::MutexLock lock(&mu_);
  auto it = registered_gradients_.find(op_type);
  return it == registered_gradients_.end() ? "" : it->second;
}

std::vector<std::string> FunctionLibrary::Names() const {
  absl::MutexLock lock(&mu_);
  std::vector<std::string> names;
  for (const auto& [name, record] : functions_) names.push_back(name);
  std::ranges::sort(names);
  return names;
}

StatusOr<std::unique_ptr<FunctionBody>> FunctionLibrary::InstantiateGradient(
    const FunctionAttr& function, std::shared_ptr<FunctionLibrary> library) const {
  WEIR_ASSIGN_OR_RETURN(FunctionAttr forward, GetAttr<FunctionAttr>(function.attrs, "f"));
  if (std::string gradient = FindGradient(forward.name); !gradient.empty()) {
    return Instantiate({std::move(gradient), forward.attrs}, std::move(library));
  }
  if (!differentiator_) return Unimplemented("Gradients of functions are not linked in: ", forward.name);
  StatusOr<std::unique_ptr<FunctionBody>> body = nullptr;
  const OpSchema* op = Contains(forward.name) || forward.name == kSymbolicGradient ? nullptr : ops_.Find(forward.name);
  if (op != nullptr) {
    body = InstantiateOp(*op, forward.attrs, ops_, library);
  } else {
    body = Instantiate(forward, library);
  }
  WEIR_RETURN_IF_ERROR(body.status());
  return Annotated(differentiator_(*std::move(body)), forward.name);
}

StatusOr<std::unique_ptr<FunctionBody>> FunctionLibrary::Instantiate(const FunctionAttr& function,
                                                                     std::shared_ptr<FunctionLibrary> library) const {
  if (function.name == kSymbolicGradient) return InstantiateGradient(function, std::move(library));
  const Record* record = nullptr;
  {
    absl::MutexLock lock(&mu_);
    auto it = functions_.find(function.name);
    // Records are never removed or changed, so the pointer outlives the lock.
    if (it != functions_.end()) record = it->second.get();
  }
  if (record == nullptr) return NotFound("Function ", function.name, " is not defined.");
  return InstantiateFunction(record->def, record->schema, function.attrs, ops_, std::move(library));
}

}  // namespace weir
