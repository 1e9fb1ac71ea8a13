// The nodes that make tables.
#include "weir/framework/resource_node.h"
#include "weir/ops/table/lookup_table.h"
#include "weir/ops/table/register.h"

namespace weir {
namespace {

// What a node says about its table, before it runs.
struct TableSpec {
  enum class Kind { kStatic, kMutable, kDense };
  Kind kind = Kind::kStatic;
  DType key_dtype = DType::kInvalid;
  DType value_dtype = DType::kInvalid;
  Shape value_shape;
  int64_t initial_num_buckets = 0;
  float max_load_factor = 0;

  static StatusOr<TableSpec> FromInit(const KernelInit& init) {
    TableSpec spec;
    const std::string& op = init.schema().name;
    if (op.find("MutableDense") != std::string::npos) {
      spec.kind = Kind::kDense;
    } else if (op.find("Mutable") != std::string::npos) {
      spec.kind = Kind::kMutable;
    }
    WEIR_ASSIGN_OR_RETURN(spec.key_dtype, init.Attr<DType>("key_dtype"));
    WEIR_ASSIGN_OR_RETURN(spec.value_dtype, init.Attr<DType>("value_dtype"));
    if (init.HasAttr("value_shape")) {
      WEIR_ASSIGN_OR_RETURN(PartialShape shape, init.Attr<PartialShape>("value_shape"));
      std::optional<Shape> full = shape.ToShape();
      if (!full) return InvalidArgument("Shape ", shape.ToString(), " is not fully defined");
      bool of_tensors = spec.kind == Kind::kMutable;
      if (of_tensors ? full->rank() != 1 : full->rank() > 1) {
        return InvalidArgument("Default value must be a ", of_tensors ? "" : "scalar or ", "vector, got shape ",
                               full->ToString());
      }
      spec.value_shape = *full;
    }
    if (spec.kind == Kind::kDense) {
      WEIR_ASSIGN_OR_RETURN(spec.initial_num_buckets, init.Attr<int64_t>("initial_num_buckets"));
      WEIR_ASSIGN_OR_RETURN(spec.max_load_factor, init.Attr<float>("max_load_factor"));
    }
    return spec;
  }

  StatusOr<std::shared_ptr<LookupTable>> MakeTable(KernelContext& ctx) const {
    switch (kind) {
      case Kind::kStatic:
        return MakeStaticTable(key_dtype, value_dtype);
      case Kind::kMutable:
        return MakeMutableTable(key_dtype, value_dtype, value_shape);
      case Kind::kDense:
        break;
    }
    DenseTableOptions options;
    options.empty_key = ctx.input(0);
    if (ctx.num_inputs() > 1) options.deleted_key = ctx.input(1);
    options.value_dtype = value_dtype;
    options.value_shape = value_shape;
    options.initial_num_buckets = initial_num_buckets;
    options.max_load_factor = max_load_factor;
    return MakeDenseTable(options);
  }
};

class TableKernel : public ResourceNodeKernel {
 public:
  TableKernel(const KernelInit& init, ResourceKey key, TableSpec spec)
      : ResourceNodeKernel(init, std::move(key), LookupTable::kTypeName), spec_(std::move(spec)) {}
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    WEIR_ASSIGN_OR_RETURN(TableSpec spec, TableSpec::FromInit(init));
    WEIR_ASSIGN_OR_RETURN(bool use_node_name, init.Attr<bool>("use_node_name_sharing"));
    WEIR_ASSIGN_OR_RETURN(ResourceKey key, NodeResourceKey(init, use_node_name));
    return std::make_unique<TableKernel>(init, std::move(key), std::move(spec));
  }

 protected:
  StatusOr<std::shared_ptr<Resource>> Create(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(std::shared_ptr<LookupTable> table, spec_.MakeTable(ctx));
    return std::shared_ptr<Resource>(std::move(table));
  }
  Status Verify(const Resource& resource) override {
    const auto& table = static_cast<const LookupTable&>(resource);
    if (table.key_dtype() == spec_.key_dtype && table.value_dtype() == spec_.value_dtype) return OkStatus();
    return InvalidArgument("Conflicting key/value dtypes ", Name(spec_.key_dtype), "->", Name(spec_.value_dtype),
                           " with ", Name(table.key_dtype()), "-", Name(table.value_dtype()), " for table ",
                           key().name);
  }

 private:
  const TableSpec spec_;
};

// A new table each time; only its handle reaches it.
class AnonymousTableKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<AnonymousTableKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->spec_, TableSpec::FromInit(init));
    return kernel;
  }
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(std::shared_ptr<LookupTable> table, spec_.MakeTable(ctx));
    ResourceKey key{"Anonymous", Cat("_AnonymousTable", ResourceManager::NextUniqueId())};
    ResourceHandle handle = MakeResourceHandle(ctx.device(), key, LookupTable::kTypeName);
    handle.resource = std::move(table);
    ctx.set_output(0, HandleTensor(std::move(handle)));
    return OkStatus();
  }

 private:
  TableSpec spec_;
};

}  // namespace

void RegisterTableHandleKernels(KernelRegistry& registry) {
  const std::vector<DType> keys = {DType::kString, DType::kInt32, DType::kInt64};
  const std::vector<DType> static_values = {DType::kString, DType::kInt32,  DType::kInt64,
                                            DType::kFloat,  DType::kDouble, DType::kBool};
  std::vector<DType> values = static_values;
  values.push_back(DType::kVariant);
  values.push_back(DType::kResource);
  auto add = [&](std::string_view op, const std::vector<DType>& value_types, KernelFactory factory) {
    registry.Add(KernelBuilder(op).Types("key_dtype", keys).Types("value_dtype", value_types), std::move(factory));
  };
  for (std::string_view version : {"", "V2"}) {
    add(Cat("HashTable", version), static_values, MakeKernel<TableKernel>);
    add(Cat("MutableHashTable", version), values, MakeKernel<TableKernel>);
    add(Cat("MutableHashTableOfTensors", version), values, MakeKernel<TableKernel>);
    add(Cat("MutableDenseHashTable", version), values, MakeKernel<TableKernel>);
  }
  add("AnonymousHashTable", static_values, MakeKernel<AnonymousTableKernel>);
  add("AnonymousMutableHashTable", values, MakeKernel<AnonymousTableKernel>);
  add("AnonymousMutableHashTableOfTensors", values, MakeKernel<AnonymousTableKernel>);
  add("AnonymousMutableDenseHashTable", values, MakeKernel<AnonymousTableKernel>);
}

}  // namespace weir
