// One node to run: attributes and inputs made up from an op's schema.
#ifndef WEIR_TESTS_OP_FUZZ_OP_CASE_H_
#define WEIR_TESTS_OP_FUZZ_OP_CASE_H_

#include <string>
#include <vector>

#include "tests/op_fuzz/values.h"
#include "weir/framework/kernel_registry.h"
#include "weir/framework/op_registry.h"

namespace weir::op_fuzz {

struct CaseInput {
  DType dtype = DType::kInvalid;  // a ref type for references
  Tensor value;                   // what is fed, or what the maker fills its state with
  int maker = -1;                 // of a handle or a reference (makers.h); -1: the value itself
  bool filled = true;             // false: the state is left without a value
};

// How inputs come into the graph, which decides what shape functions know of them.
enum class Sight { kUnknownShape, kPartialShape, kConstant };

struct OpCase {
  const OpSchema* schema = nullptr;
  AttrMap attrs;
  std::vector<int64_t> theme;
  std::vector<CaseInput> inputs;
  Sight sight = Sight::kUnknownShape;
  bool with_gradient = false;
  uint64_t seed = 0;  // of further choices when it is run

  std::string ToString() const;
};

class CaseGenerator {
 public:
  CaseGenerator(const OpSchema& schema, const KernelRegistry& kernels);

  OpCase Fresh(Chance& chance) const;
  OpCase Mutated(const OpCase& from, Chance& chance) const;

 private:
  Attribute AnyAttr(const AttrSchema& attr, const KernelEntry* kernel, const std::vector<int64_t>& theme,
                    Chance& chance) const;
  Attribute AnyListAttr(const AttrSchema& attr, const KernelEntry* kernel, const std::vector<int64_t>& theme,
                        Chance& chance) const;
  Attribute AnyFunction(std::string_view attr, Chance& chance) const;
  DType AnyAllowedType(const AttrSchema& attr, const KernelEntry* kernel, Chance& chance) const;
  CaseInput AnyInput(DType dtype, const OpCase& node, Chance& chance) const;
  // Brings the inputs' number and types in line with the attributes.
  void FitInputs(OpCase& node, Chance& chance) const;
  void MutateInput(OpCase& node, Chance& chance) const;
  bool IsNumber(std::string_view attr) const;

  const OpSchema& schema_;
  std::vector<const KernelEntry*> kernels_;
  bool calls_functions_ = false;
};

}  // namespace weir::op_fuzz

#endif  // WEIR_TESTS_OP_FUZZ_OP_CASE_H_
