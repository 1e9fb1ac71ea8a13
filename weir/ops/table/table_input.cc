#include "weir/ops/table/table_input.h"

#include "weir/framework/resource_node.h"

namespace weir {
namespace {

std::string TypesText(const std::vector<DType>& types) {
  std::string out;
  for (DType type : types) out += Cat(out.empty() ? "" : ", ", Name(type));
  return out;
}

}  // namespace

StatusOr<std::shared_ptr<LookupTable>> TableInput(KernelContext& ctx) { return FindByHandle<LookupTable>(ctx, 0); }

Status CheckTableTypes(KernelContext& ctx, const std::vector<DType>& inputs, const std::vector<DType>& outputs) {
  DType handle = ctx.is_ref_input(0) ? RefType(DType::kString) : ctx.input(0).dtype();
  std::vector<DType> have_inputs = {handle};
  std::vector<DType> have_outputs;
  for (int i = 1; i < ctx.num_inputs(); ++i) have_inputs.push_back(ctx.input(i).dtype());
  for (int i = 0; i < ctx.num_outputs(); ++i) have_outputs.push_back(ctx.output_type(i));
  std::vector<DType> want_inputs = inputs;
  want_inputs.insert(want_inputs.begin(), handle);
  if (have_inputs == want_inputs && have_outputs == outputs) return OkStatus();
  return InvalidArgument("Signature mismatch, have: ", TypesText(have_inputs), "->", TypesText(have_outputs),
                         " expected: ", TypesText(want_inputs), "->", TypesText(outputs));
}

}  // namespace weir
