#include "tests/op_fuzz/op_case.h"

#include <algorithm>

#include "tests/op_fuzz/makers.h"

namespace weir::op_fuzz {
namespace {

constexpr int64_t kMostInputs = 8;

std::string_view ElementKind(const AttrSchema& attr) {
  std::string_view type = attr.type;
  type.remove_prefix(5);  // "list("
  type.remove_suffix(1);
  return type;
}
bool IsList(const AttrSchema& attr) { return attr.type.starts_with("list("); }

Tensor Reshaped(DType dtype, const Tensor& like, Chance& chance) {
  return AnyTensor(BaseType(dtype), like.has_value() ? like.shape() : Shape(), chance);
}

}  // namespace

std::string OpCase::ToString() const {
  std::string out = Cat(schema->name, "(");
  for (const auto& [name, value] : attrs) out += Cat("\n  ", name, " = ", value.ToString().substr(0, 400));
  for (size_t i = 0; i < inputs.size(); ++i) {
    const CaseInput& input = inputs[i];
    out += Cat("\n  input ", i, ": ", Name(input.dtype));
    if (input.maker >= 0) out += Cat(" of ", MakerName(input.maker), input.filled ? ", filled with" : ", unfilled,");
    out += Cat(" ", input.value.has_value() ? input.value.ToString(64).substr(0, 1500) : std::string("nothing"));
  }
  out += Cat(")\n  as ", sight == Sight::kConstant       ? "constants"
                         : sight == Sight::kPartialShape ? "placeholders of partly known shape"
                                                         : "placeholders");
  return out + (with_gradient ? ", with its gradient" : "");
}

CaseGenerator::CaseGenerator(const OpSchema& schema, const KernelRegistry& kernels)
    : schema_(schema), kernels_(kernels.All(schema.name)) {
  std::erase_if(kernels_, [](const KernelEntry* kernel) { return kernel->device_type != "CPU"; });
  for (const AttrSchema& attr : schema.attrs) calls_functions_ |= attr.type.find("func") != std::string::npos;
}

bool CaseGenerator::IsNumber(std::string_view attr) const {
  auto names = [&](const ArgSchema& arg) { return arg.number_attr == attr; };
  return std::any_of(schema_.inputs.begin(), schema_.inputs.end(), names) ||
         std::any_of(schema_.outputs.begin(), schema_.outputs.end(), names);
}

DType CaseGenerator::AnyAllowedType(const AttrSchema& attr, const KernelEntry* kernel, Chance& chance) const {
  if (calls_functions_ && chance.Percent(80)) return chance.Percent(50) ? DType::kInt64 : DType::kFloat;
  if (kernel != nullptr && chance.Percent(95)) {
    for (const KernelEntry::Constraint& constraint : kernel->constraints) {
      if (constraint.attr == attr.name && !constraint.types.empty()) return chance.OneOf(constraint.types);
    }
  }
  if (attr.allowed && !attr.allowed->type.empty() && chance.Percent(97)) return chance.OneOf(attr.allowed->type);
  return AnyType(chance);
}

Attribute CaseGenerator::AnyFunction(std::string_view attr, Chance& chance) const {
  FunctionAttr function;
  const bool asks = attr.find("cond") != attr.npos || attr.find("predicate") != attr.npos;
  function.name = chance.Percent(97) ? AnyFunctionName(asks && chance.Percent(80), chance) : AnyString(chance);
  return Attribute(std::move(function));
}

Attribute CaseGenerator::AnyListAttr(const AttrSchema& attr, const KernelEntry* kernel,
                                     const std::vector<int64_t>& theme, Chance& chance) const {
  const std::string_view kind = ElementKind(attr);
  size_t length = static_cast<size_t>(chance.Below(4));
  const AttrList* preset = attr.default_value ? attr.default_value->get_if<AttrList>() : nullptr;
  if (preset != nullptr && chance.Percent(60)) length = preset->size();
  if (kind == "int" && preset == nullptr && chance.Percent(70)) length = chance.Percent(70) ? 4 : 5;
  if (kind == "type" && chance.Percent(60)) length = 1;
  if (attr.minimum && chance.Percent(95))
    length = std::max(length, static_cast<size_t>(std::clamp<int64_t>(*attr.minimum, 0, 8)));
  AttrList list;
  const bool windows = chance.Percent(70);  // 1 at both ends, as strides and windows have
  for (size_t i = 0; i < length; ++i) {
    if (kind == "int") {
      const bool is_end = windows && length >= 4 && (i == 0 || i + 1 == length);
      list.i.push_back(is_end ? 1 : chance.Percent(85) ? 1 + chance.Below(3) : AnyNumber(chance));
    } else if (kind == "type") {
      list.type.push_back(AnyAllowedType(attr, kernel, chance));
    } else if (kind == "string") {
      const bool choose = attr.allowed && !attr.allowed->s.empty() && chance.Percent(95);
      list.s.push_back(choose ? chance.OneOf(attr.allowed->s) : AnyString(chance));
    } else if (kind == "float") {
      list.f.push_back(AnyFloat(chance));
    } else if (kind == "bool") {
      list.b.push_back(chance.Percent(50));
    } else if (kind == "shape") {
      list.shape.push_back(AnyPartialShape(theme, chance));
    } else if (kind == "tensor") {
      list.tensor.push_back(AnyTensor(AnyType(chance), AnyShape(theme, chance), chance));
    } else if (kind == "func") {
      const Attribute function = AnyFunction(attr.name, chance);
      list.func.push_back(*function.get_if<FunctionAttr>());
    }
  }
  return Attribute(std::move(list));
}

Attribute CaseGenerator::AnyAttr(const AttrSchema& attr, const KernelEntry* kernel, const std::vector<int64_t>& theme,
                                 Chance& chance) const {
  if (IsList(attr)) {
    if (attr.default_value && chance.Percent(30)) return *attr.default_value;
    return AnyListAttr(attr, kernel, theme, chance);
  }
  if (attr.type == "type") return Attribute(AnyAllowedType(attr, kernel, chance));
  if (attr.type == "func") return AnyFunction(attr.name, chance);
  if (attr.default_value && chance.Percent(45)) return *attr.default_value;
  if (attr.type == "int") {
    if (IsNumber(attr.name)) {
      const int64_t least = attr.minimum.value_or(0);
      if (chance.Percent(98)) return Attribute(std::clamp<int64_t>(least, 0, 4) + chance.Below(3));
      const int64_t odd = AnyNumber(chance);  // a million outputs are legal, but take their time
      return Attribute(odd > 4096 && odd < INT32_MAX ? 4096 : odd);
    }
    if (attr.minimum && chance.Percent(80)) return Attribute(*attr.minimum + chance.Below(4));
    return Attribute(AnyNumber(chance));
  }
  if (attr.type == "float") return Attribute(AnyFloat(chance));
  if (attr.type == "bool") return Attribute(chance.Percent(50));
  if (attr.type == "shape") return Attribute(AnyPartialShape(theme, chance));
  if (attr.type == "tensor") return Attribute(AnyTensor(AnyType(chance), AnyShape(theme, chance), chance));
  if (attr.allowed && !attr.allowed->s.empty() && chance.Percent(95)) return Attribute(chance.OneOf(attr.allowed->s));
  return Attribute(AnyString(chance));
}

CaseInput CaseGenerator::AnyInput(DType dtype, const OpCase& node, Chance& chance) const {
  CaseInput input;
  input.dtype = dtype;
  const DType base = BaseType(dtype);
  input.filled = chance.Percent(80);
  const Shape shape = AnyShape(node.theme, chance);
  if (IsRef(dtype)) {
    input.maker = AnyRefMaker(base, schema_.name, chance);
    input.value = AnyTensor(base == DType::kString ? ElementTypeOf(node.attrs) : base, shape, chance);
    if (input.maker == kVariableRef) input.value = AnyTensor(base, shape, chance);
  } else if ((base == DType::kResource || base == DType::kVariant) && chance.Percent(92)) {
    input.maker = AnyHandleMaker(base, schema_.name, chance);
    input.value = AnyTensor(ElementTypeOf(node.attrs), shape, chance);
  } else {
    input.value = AnyTensor(base, shape, chance);
  }
  return input;
}

void CaseGenerator::FitInputs(OpCase& node, Chance& chance) const {
  AttrMap complete = node.attrs;
  std::vector<DType> types;
  if (CheckAttrs(schema_, complete).ok()) {
    if (auto resolved = ResolveArgTypes(schema_, complete); resolved.ok()) types = std::move(resolved->inputs);
  }
  if (types.empty()) {
    node.inputs.clear();
    return;
  }
  if (static_cast<int64_t>(types.size()) > kMostInputs * 4) types.resize(kMostInputs * 4);
  node.inputs.resize(types.size());
  for (size_t i = 0; i < types.size(); ++i) {
    CaseInput& input = node.inputs[i];
    if (input.dtype == types[i] && (input.maker < 0 || chance.Percent(90))) continue;
    const bool keep_shape = input.value.has_value() && input.maker < 0 && SizeOf(BaseType(types[i])) > 0;
    const Tensor before = input.value;
    input = AnyInput(types[i], node, chance);
    if (keep_shape && input.maker < 0) input.value = Reshaped(types[i], before, chance);
  }
}

OpCase CaseGenerator::Fresh(Chance& chance) const {
  OpCase node;
  node.schema = &schema_;
  node.theme = AnyTheme(chance);
  const KernelEntry* kernel = kernels_.empty() ? nullptr : chance.OneOf(kernels_);
  for (const AttrSchema& attr : schema_.attrs) {
    if (attr.default_value && chance.Percent(10)) continue;
    node.attrs.Set(attr.name, AnyAttr(attr, kernel, node.theme, chance));
  }
  // Constants say their type twice.
  if (const Attribute* dtype = node.attrs.Find("dtype"); dtype != nullptr && node.attrs.Find("value") != nullptr) {
    const DType* type = dtype->get_if<DType>();
    if (type != nullptr && chance.Percent(90)) {
      node.attrs.Set("value", Attribute(AnyTensor(*type, AnyShape(node.theme, chance), chance)));
    }
  }
  FitInputs(node, chance);
  static constexpr Sight kSights[] = {Sight::kUnknownShape, Sight::kUnknownShape, Sight::kPartialShape,
                                      Sight::kConstant};
  node.sight = chance.OneOf(kSights);
  node.with_gradient = chance.Percent(25);
  node.seed = chance.Bits();
  return node;
}

void CaseGenerator::MutateInput(OpCase& node, Chance& chance) const {
  if (node.inputs.empty()) return;
  CaseInput& input = chance.OneOf(node.inputs);
  const int64_t roll = chance.Below(10);
  if (input.maker >= 0 && roll < 3) {
    input.filled = !input.filled;
    return;
  }
  const CaseInput& other = chance.OneOf(node.inputs);
  const DType stored = input.value.has_value() ? input.value.dtype() : BaseType(input.dtype);
  const Shape shape = input.value.has_value() ? input.value.shape() : Shape();
  if (roll < 5) {
    input.value = AnyTensor(stored, shape, chance);
  } else if (roll < 7) {
    input.value = AnyTensor(stored, NearShape(shape, chance), chance);
  } else if (roll < 8 && other.value.has_value()) {
    input.value = AnyTensor(stored, other.value.shape(), chance);
  } else {
    input = AnyInput(input.dtype, node, chance);
  }
}

OpCase CaseGenerator::Mutated(const OpCase& from, Chance& chance) const {
  OpCase node = from;
  for (int64_t left = 1 + chance.Below(3); left > 0; --left) {
    if (!schema_.attrs.empty() && (node.inputs.empty() || chance.Percent(35))) {
      const KernelEntry* kernel = kernels_.empty() ? nullptr : chance.OneOf(kernels_);
      const AttrSchema& attr = chance.OneOf(schema_.attrs);
      node.attrs.Set(attr.name, AnyAttr(attr, kernel, node.theme, chance));
      FitInputs(node, chance);
    } else {
      MutateInput(node, chance);
    }
  }
  if (chance.Percent(20)) node.sight = static_cast<Sight>(chance.Below(3));
  node.with_gradient = chance.Percent(25);
  node.seed = chance.Bits();
  return node;
}

}  // namespace weir::op_fuzz
