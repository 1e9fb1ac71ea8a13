// Attribute: the value of an attribute of a node or function.
#ifndef WEIR_FRAMEWORK_ATTRIBUTE_H_
#define WEIR_FRAMEWORK_ATTRIBUTE_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "weir/base/export.h"
#include "weir/tensor/tensor.h"

namespace WEIR_PUBLIC weir {

class Attribute;
struct AttrList;
struct FunctionAttr;

// `$T` in a function body: replaced when the function is instantiated.
struct AttrPlaceholder {
  std::string name;
  bool operator==(const AttrPlaceholder&) const = default;
};

class Attribute {
 public:
  // The kinds of the wire format's oneof, in the same order.
  using Value = std::variant<std::monostate, std::shared_ptr<const AttrList>, std::string, int64_t, float, bool, DType,
                             PartialShape, Tensor, AttrPlaceholder, std::shared_ptr<const FunctionAttr>>;

  Attribute() = default;
  Attribute(std::string v) : value_(std::move(v)) {}
  Attribute(std::string_view v) : value_(std::string(v)) {}
  Attribute(const char* v) : value_(std::string(v)) {}
  Attribute(int64_t v) : value_(v) {}
  Attribute(int v) : value_(static_cast<int64_t>(v)) {}
  Attribute(float v) : value_(v) {}
  Attribute(bool v) : value_(v) {}
  Attribute(DType v) : value_(v) {}
  Attribute(PartialShape v) : value_(std::move(v)) {}
  Attribute(const Shape& v) : value_(PartialShape(v)) {}
  Attribute(Tensor v) : value_(std::move(v)) {}
  Attribute(AttrPlaceholder v) : value_(std::move(v)) {}
  Attribute(FunctionAttr v);
  Attribute(AttrList v);

  bool has_value() const { return value_.index() != 0; }
  const Value& value() const { return value_; }
  // The value as a T; null if it has another type. T: std::string, int64_t, float, bool, DType, PartialShape, Tensor,
  // AttrPlaceholder, AttrList, FunctionAttr.
  template <typename T>
  const T* get_if() const {
    if constexpr (std::is_same_v<T, AttrList> || std::is_same_v<T, FunctionAttr>) {
      auto* pointer = std::get_if<std::shared_ptr<const T>>(&value_);
      return pointer != nullptr ? pointer->get() : nullptr;
    } else {
      return std::get_if<T>(&value_);
    }
  }
  // Tensors are equal if their types, shapes and bytes are.
  bool operator==(const Attribute& other) const;
  std::string ToString() const;

 private:
  Value value_;
};

// Attributes by name, sorted. There are few of them, so they are stored in a vector.
class AttrMap {
 public:
  using Entry = std::pair<std::string, Attribute>;
  AttrMap() = default;

  const Attribute* Find(std::string_view name) const;  // null if there is none
  Attribute* Find(std::string_view name);
  void Set(std::string_view name, Attribute value);
  bool Erase(std::string_view name);
  size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  bool operator==(const AttrMap& other) const;

 private:
  std::vector<Entry> entries_;
};

// A function named as an attribute, with the values of its own attributes.
struct FunctionAttr {
  std::string name;
  AttrMap attrs;
  bool operator==(const FunctionAttr& other) const;
};

// At most one of the vectors is not empty; an empty list has no kind.
struct AttrList {
  std::vector<std::string> s;
  std::vector<int64_t> i;
  std::vector<float> f;
  std::vector<bool> b;
  std::vector<DType> type;
  std::vector<PartialShape> shape;
  std::vector<Tensor> tensor;
  std::vector<FunctionAttr> func;
  size_t size() const {
    return s.size() + i.size() + f.size() + b.size() + type.size() + shape.size() + tensor.size() + func.size();
  }
  bool operator==(const AttrList& other) const;
};

uint64_t Hash(const AttrMap& attrs);

// The attribute `name` as a C++ value, or an error that names it. T: std::string, int64_t, float, bool, DType,
// PartialShape, Tensor, FunctionAttr, or a std::vector of one of these. An int64_t can also be read as int32_t or int.
template <typename T>
StatusOr<T> GetAttr(const AttrMap& attrs, std::string_view name);

}  // namespace weir

#endif  // WEIR_FRAMEWORK_ATTRIBUTE_H_
