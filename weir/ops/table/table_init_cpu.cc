// InitializeTable, InitializeTableFromTextFile.
#include "weir/ops/table/register.h"
#include "weir/ops/table/table_input.h"
#include "weir/ops/table/vocabulary_file.h"

namespace weir {
namespace {

// "localhost table_3": the handle's container and name.
std::string TableName(KernelContext& ctx) {
  if (ctx.is_ref_input(0)) {
    RefCell& cell = ctx.ref_input(0);
    absl::ReaderMutexLock lock(&cell.mu);
    auto parts = cell.tensor.span<std::string>();
    return Cat(parts[0], " ", parts[1]);
  }
  if (ctx.input(0).dtype() != DType::kResource) return "";
  const ResourceHandle& handle = ctx.input(0).scalar<ResourceHandle>();
  return Cat(handle.container, " ", handle.name);
}

StatusOr<std::shared_ptr<LookupTable>> InitializableTable(KernelContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(std::shared_ptr<LookupTable> table, TableInput(ctx));
  if (!table->is_initializable()) return InvalidArgument("Table ", TableName(ctx), " is not initializable");
  return table;
}

class InitializeTableKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(std::shared_ptr<LookupTable> table, InitializableTable(ctx));
    WEIR_RETURN_IF_ERROR(CheckTableTypes(ctx, {table->key_dtype(), table->value_dtype()}, {}));
    const Tensor& keys = ctx.input(1);
    const Tensor& values = ctx.input(2);
    if (keys.rank() != 1) {
      return InvalidArgument("Keys must be a vector, but received shape", keys.shape().ToString());
    }
    if (values.rank() != 1) {
      return InvalidArgument("Values must be a vector, but received shape", values.shape().ToString());
    }
    if (keys.num_elements() != values.num_elements()) {
      return InvalidArgument("Keys and values must have the same size ", keys.num_elements(), " vs ",
                             values.num_elements());
    }
    if (keys.num_elements() == 0) return InvalidArgument("keys and values cannot be empty tensors.");
    return table->Initialize(keys, values);
  }
};

class InitializeTableFromTextFileKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<InitializeTableFromTextFileKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->format_.vocab_size, init.Attr<int64_t>("vocab_size"));
    WEIR_ASSIGN_OR_RETURN(kernel->format_.key_index, init.Attr<int64_t>("key_index"));
    WEIR_ASSIGN_OR_RETURN(kernel->format_.value_index, init.Attr<int64_t>("value_index"));
    WEIR_ASSIGN_OR_RETURN(kernel->format_.offset, init.Attr<int64_t>("offset"));
    WEIR_ASSIGN_OR_RETURN(std::string delimiter, init.Attr<std::string>("delimiter"));
    if (delimiter.size() != 1) return InvalidArgument("delimiter should be only 1 char");
    kernel->format_.delimiter = delimiter[0];
    if (kernel->format_.key_index < -2 || kernel->format_.value_index < -2) {
      return InvalidArgument("key_index and value_index must be at least -2");
    }
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(std::shared_ptr<LookupTable> table, InitializableTable(ctx));
    const Tensor& filename = ctx.input(1);
    if (filename.num_elements() != 1) {
      return InvalidArgument("filename should be a single string, but got ", filename.shape().ToString());
    }
    if (filename.scalar<std::string>().empty()) return InvalidArgument("filename cannot be empty.");
    VocabularyFormat format = format_;
    format.key_dtype = table->key_dtype();
    format.value_dtype = table->value_dtype();
    WEIR_ASSIGN_OR_RETURN(auto entries, ReadVocabulary(filename.scalar<std::string>(), format));
    return table->Initialize(entries.first, entries.second);
  }

 private:
  VocabularyFormat format_;
};

}  // namespace

void RegisterTableInitKernels(KernelRegistry& registry) {
  for (std::string_view version : {"", "V2"}) {
    registry.Add(KernelBuilder(Cat("InitializeTable", version)), MakeKernel<InitializeTableKernel>);
    registry.Add(KernelBuilder(Cat("InitializeTableFromTextFile", version)),
                 MakeKernel<InitializeTableFromTextFileKernel>);
  }
}

}  // namespace weir
