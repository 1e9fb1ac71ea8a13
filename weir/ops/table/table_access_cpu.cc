// Looking up, inserting, removing, exporting: one kernel for both kinds of handle.
#include "weir/ops/table/register.h"
#include "weir/ops/table/table_input.h"

namespace weir {
namespace {

class TableFindKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(std::shared_ptr<LookupTable> table, TableInput(ctx));
    WEIR_RETURN_IF_ERROR(CheckTableTypes(ctx, {table->key_dtype(), table->value_dtype()}, {table->value_dtype()}));
    WEIR_ASSIGN_OR_RETURN(Tensor values, table->Find(ctx.input(1), ctx.input(2)));
    ctx.set_output(0, std::move(values));
    return OkStatus();
  }
};

class TableInsertKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(std::shared_ptr<LookupTable> table, TableInput(ctx));
    WEIR_RETURN_IF_ERROR(CheckTableTypes(ctx, {table->key_dtype(), table->value_dtype()}, {}));
    return table->Insert(ctx.input(1), ctx.input(2));
  }
};

class TableImportKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(std::shared_ptr<LookupTable> table, TableInput(ctx));
    WEIR_RETURN_IF_ERROR(CheckTableTypes(ctx, {table->key_dtype(), table->value_dtype()}, {}));
    return table->Import(ctx.input(1), ctx.input(2));
  }
};

class TableRemoveKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(std::shared_ptr<LookupTable> table, TableInput(ctx));
    WEIR_RETURN_IF_ERROR(CheckTableTypes(ctx, {table->key_dtype()}, {}));
    return table->Remove(ctx.input(1));
  }
};

class TableExportKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(std::shared_ptr<LookupTable> table, TableInput(ctx));
    WEIR_RETURN_IF_ERROR(CheckTableTypes(ctx, {}, {table->key_dtype(), table->value_dtype()}));
    WEIR_ASSIGN_OR_RETURN(auto entries, table->Export());
    ctx.set_output(0, std::move(entries.first));
    ctx.set_output(1, std::move(entries.second));
    return OkStatus();
  }
};

class TableSizeKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(std::shared_ptr<LookupTable> table, TableInput(ctx));
    ctx.set_output(0, Tensor::Scalar<int64_t>(table->Size()));
    return OkStatus();
  }
  bool is_expensive() const override { return false; }
};

}  // namespace

void RegisterTableAccessKernels(KernelRegistry& registry) {
  for (std::string_view version : {"", "V2"}) {
    registry.Add(KernelBuilder(Cat("LookupTableFind", version)), MakeKernel<TableFindKernel>);
    registry.Add(KernelBuilder(Cat("LookupTableInsert", version)), MakeKernel<TableInsertKernel>);
    registry.Add(KernelBuilder(Cat("LookupTableImport", version)), MakeKernel<TableImportKernel>);
    registry.Add(KernelBuilder(Cat("LookupTableExport", version)), MakeKernel<TableExportKernel>);
    registry.Add(KernelBuilder(Cat("LookupTableSize", version)), MakeKernel<TableSizeKernel>);
  }
  registry.Add(KernelBuilder("LookupTableRemoveV2"), MakeKernel<TableRemoveKernel>);
}

}  // namespace weir
