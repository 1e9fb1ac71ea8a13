// InitializeTableFromDataset: a lookup table filled with the pairs of a dataset.
#include "weir/framework/kernel_registry.h"
#include "weir/framework/resource_node.h"
#include "weir/ops/data/background.h"
#include "weir/ops/data/register.h"
#include "weir/resources/fillable_table.h"
#include "weir/tensor/copy_elements.h"

namespace weir {
namespace {

// Tensors of equal type as one vector of all their elements.
StatusOr<Tensor> JoinElements(DType dtype, const std::vector<Tensor>& parts) {
  int64_t count = 0;
  for (const Tensor& part : parts) count += part.num_elements();
  WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(dtype, Shape({count})));
  int64_t at = 0;
  for (const Tensor& part : parts) {
    CopyElements(part, 0, out, at, part.num_elements());
    at += part.num_elements();
  }
  return out;
}

class InitializeTableFromDatasetKernel : public BackgroundKernel {
 private:
  Status Work(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(std::shared_ptr<Resource> resource, FindByHandle(ctx, 0, FillableTable::kTypeName));
    auto table = std::dynamic_pointer_cast<FillableTable>(std::move(resource));
    if (table == nullptr || !table->is_initializable()) return InvalidArgument("The table is not initializable");
    WEIR_ASSIGN_OR_RETURN(DatasetPtr dataset, DatasetFromTensor(ctx.input(1)));
    const std::vector<DType> types = {table->key_dtype(), table->value_dtype()};
    if (dataset->spec().types.size() != 2) {
      return InvalidArgument("Dataset should have two output types only, but has ", dataset->spec().types.size());
    }
    if (dataset->spec().types != types) {
      return InvalidArgument("Key dtype expected: ", Name(types[0]), ", got ", Name(dataset->spec().types[0]),
                             "; value dtype expected: ", Name(types[1]), ", got ", Name(dataset->spec().types[1]));
    }
    WEIR_ASSIGN_OR_RETURN(std::unique_ptr<StepWalk> walk, StepWalk::Start(ctx, std::move(dataset)));
    std::vector<Tensor> keys, values;
    while (true) {
      Element element;
      bool end = false;
      WEIR_RETURN_IF_ERROR(walk->GetNext(&element, &end));
      if (end) break;
      WEIR_RETURN_IF_ERROR(CheckElement({types, {}}, element));
      if (element[0].num_elements() != element[1].num_elements()) {
        return InvalidArgument("Keys and values must have the same size ", element[0].num_elements(), " vs ",
                               element[1].num_elements());
      }
      keys.push_back(std::move(element[0]));
      values.push_back(std::move(element[1]));
    }
    WEIR_ASSIGN_OR_RETURN(Tensor all_keys, JoinElements(types[0], keys));
    WEIR_ASSIGN_OR_RETURN(Tensor all_values, JoinElements(types[1], values));
    return table->Initialize(all_keys, all_values);
  }
};

}  // namespace

void RegisterTableFromDatasetKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("InitializeTableFromDataset"), MakeKernel<InitializeTableFromDatasetKernel>);
}

}  // namespace weir
