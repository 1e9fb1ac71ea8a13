#include "weir/framework/attribute.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "absl/hash/hash.h"
#include "absl/strings/escaping.h"

namespace weir {
namespace {

bool SameTensor(const Tensor& a, const Tensor& b) {
  if (a.has_value() != b.has_value()) return false;
  if (!a.has_value()) return true;
  if (a.dtype() != b.dtype() || !(a.shape() == b.shape())) return false;
  if (a.raw_data() == b.raw_data()) return true;
  if (a.dtype() == DType::kString) return std::ranges::equal(a.span<std::string>(), b.span<std::string>());
  if (!IsPlain(a.dtype())) return a.num_elements() == 0;
  return a.num_bytes() == 0 || std::memcmp(a.raw_data(), b.raw_data(), a.num_bytes()) == 0;
}

// Bits, not values: NaN equals itself and the zeros differ, so that equal attributes always give equal graphs.
bool SameFloat(float a, float b) { return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b); }

uint64_t Mix(uint64_t seed, uint64_t value) { return absl::HashOf(seed, value); }

uint64_t HashOf(const std::string& v) { return absl::HashOf(v); }
uint64_t HashOf(int64_t v) { return absl::HashOf(v); }
uint64_t HashOf(float v) { return absl::HashOf(std::bit_cast<uint32_t>(v)); }
uint64_t HashOf(bool v) { return absl::HashOf(v); }
uint64_t HashOf(DType v) { return absl::HashOf(static_cast<int>(v)); }
uint64_t HashOf(const AttrPlaceholder& v) { return absl::HashOf(v.name); }
uint64_t HashOf(std::monostate) { return 0; }
uint64_t HashOf(const PartialShape& v) {
  uint64_t hash = absl::HashOf(v.rank());
  for (int64_t dim : v.dims()) hash = Mix(hash, static_cast<uint64_t>(dim));
  return hash;
}
uint64_t HashOf(const Tensor& v) {
  if (!v.has_value()) return 0;
  uint64_t hash = Mix(HashOf(v.dtype()), HashOf(PartialShape(v.shape())));
  if (v.dtype() == DType::kString) {
    for (const std::string& s : v.span<std::string>()) hash = Mix(hash, HashOf(s));
  } else if (IsPlain(v.dtype()) && v.num_bytes() > 0) {
    std::string_view bytes(static_cast<const char*>(v.raw_data()), v.num_bytes());
    hash = Mix(hash, absl::HashOf(bytes));
  }
  return hash;
}
uint64_t HashOf(const FunctionAttr& v) { return Mix(absl::HashOf(v.name), Hash(v.attrs)); }

template <typename Values>
uint64_t HashAll(uint64_t hash, const Values& values) {
  for (const auto& v : values) hash = Mix(hash, HashOf(v));
  return hash;
}
uint64_t HashOf(const AttrList& v) {
  uint64_t hash = absl::HashOf(v.size());
  hash = HashAll(HashAll(HashAll(hash, v.s), v.i), v.f);
  for (bool b : v.b) hash = Mix(hash, b);
  return HashAll(HashAll(HashAll(HashAll(hash, v.type), v.shape), v.tensor), v.func);
}
template <typename T>
uint64_t HashOf(const std::shared_ptr<const T>& v) {
  return HashOf(*v);
}

std::string Show(const std::string& v) { return Cat("\"", absl::CEscape(v), "\""); }
std::string Show(int64_t v) { return Cat(v); }
std::string Show(float v) { return Cat(v); }
std::string Show(bool v) { return v ? "true" : "false"; }
std::string Show(DType v) {
  std::string name(Name(v));
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return Cat("DT_", name);
}
std::string Show(const PartialShape& v) { return v.ToString(); }
std::string Show(const Tensor& v) {
  return Cat("Tensor<type: ", Name(v.dtype()), " shape: ", v.shape().ToString(), " values: ", v.SummarizeValues(10),
             ">");
}
std::string Show(const AttrPlaceholder& v) { return Cat("$", v.name); }
std::string Show(std::monostate) { return "<Unknown AttrValue type>"; }
std::string Show(const FunctionAttr& v) {
  std::string out = Cat(v.name, "[");
  const char* separator = "";
  for (const auto& [name, value] : v.attrs) {
    out += Cat(separator, name, "=", value.ToString());
    separator = ", ";
  }
  return out + "]";
}
template <typename Values>
void ShowAll(const Values& values, std::vector<std::string>& pieces) {
  for (const auto& v : values) pieces.push_back(Show(v));
}
std::string Show(const AttrList& v) {
  std::vector<std::string> pieces;
  ShowAll(v.s, pieces);
  ShowAll(v.i, pieces);
  ShowAll(v.f, pieces);
  for (bool b : v.b) pieces.push_back(Show(b));
  ShowAll(v.type, pieces);
  ShowAll(v.shape, pieces);
  ShowAll(v.tensor, pieces);
  ShowAll(v.func, pieces);
  constexpr size_t kMost = 50, kEnds = 5;  // a longer list shows its ends
  std::string out = "[";
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (pieces.size() > kMost && i == kEnds) {
      out += ", ...";
      i = pieces.size() - kEnds;
    }
    out += Cat(i == 0 ? "" : ", ", pieces[i]);
  }
  return out + "]";
}
template <typename T>
std::string Show(const std::shared_ptr<const T>& v) {
  return Show(*v);
}

auto LowerBound(auto& entries, std::string_view name) {
  return std::lower_bound(entries.begin(), entries.end(), name, [](const AttrMap::Entry& entry, std::string_view key) {
    return key.compare(entry.first) > 0;
  });
}

}  // namespace

Attribute::Attribute(FunctionAttr v) : value_(std::make_shared<const FunctionAttr>(std::move(v))) {}
Attribute::Attribute(AttrList v) : value_(std::make_shared<const AttrList>(std::move(v))) {}

bool Attribute::operator==(const Attribute& other) const {
  if (value_.index() != other.value_.index()) return false;
  return std::visit(
      [&](const auto& a) {
        using T = std::decay_t<decltype(a)>;
        const T& b = std::get<T>(other.value_);
        if constexpr (std::is_same_v<T, Tensor>) {
          return SameTensor(a, b);
        } else if constexpr (std::is_same_v<T, float>) {
          return SameFloat(a, b);
        } else if constexpr (requires {
                               *a == *b;
                               a.get();
                             }) {
          return a == b || *a == *b;
        } else {
          return a == b;
        }
      },
      value_);
}

std::string Attribute::ToString() const {
  return std::visit([](const auto& v) { return Show(v); }, value_);
}

bool AttrList::operator==(const AttrList& other) const {
  return s == other.s && i == other.i && std::ranges::equal(f, other.f, SameFloat) && b == other.b &&
         type == other.type && shape == other.shape && std::ranges::equal(tensor, other.tensor, SameTensor) &&
         func == other.func;
}

bool FunctionAttr::operator==(const FunctionAttr& other) const { return name == other.name && attrs == other.attrs; }

const Attribute* AttrMap::Find(std::string_view name) const {
  auto it = LowerBound(entries_, name);
  return it != entries_.end() && it->first == name ? &it->second : nullptr;
}

Attribute* AttrMap::Find(std::string_view name) {
  return const_cast<Attribute*>(static_cast<const AttrMap*>(this)->Find(name));
}

void AttrMap::Set(std::string_view name, Attribute value) {
  auto it = LowerBound(entries_, name);
  if (it != entries_.end() && it->first == name) {
    it->second = std::move(value);
  } else {
    entries_.emplace(it, std::string(name), std::move(value));
  }
}

bool AttrMap::Erase(std::string_view name) {
  auto it = LowerBound(entries_, name);
  if (it == entries_.end() || it->first != name) return false;
  entries_.erase(it);
  return true;
}

bool AttrMap::operator==(const AttrMap& other) const { return entries_ == other.entries_; }

uint64_t Hash(const AttrMap& attrs) {
  uint64_t hash = attrs.size();
  for (const auto& [name, value] : attrs) {
    hash = Mix(hash, absl::HashOf(name));
    hash = Mix(hash, std::visit([](const auto& v) { return HashOf(v); }, value.value()));
  }
  return hash;
}

}  // namespace weir
