#include "weir/passes/cost_table.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

namespace weir {
namespace {

constexpr std::string_view kHeader = "weir costs 1";
// A mean weighs at most so many measurements, so that it forgets old ones.
constexpr int64_t kMostWeight = 100;
constexpr double kSecond = 1e9;

std::string TypeOfDevice(std::string_view device) {
  StatusOr<DeviceName> name = DeviceName::Parse(device);
  return name.ok() ? name->type : std::string();
}

// "float[2,3]"
StatusOr<std::pair<DType, Shape>> ParseTypedShape(std::string_view text) {
  const size_t open = text.find('[');
  if (open == text.npos || !text.ends_with(']')) return InvalidArgument("'", text, "' is not a type with a shape");
  std::optional<DType> dtype = ParseDType(text.substr(0, open));
  if (!dtype) return InvalidArgument("'", text.substr(0, open), "' is not a type");
  std::vector<int64_t> dims;
  const std::string_view inside = text.substr(open + 1, text.size() - open - 2);
  for (absl::string_view part : absl::StrSplit(ToAbsl(inside), ',', absl::SkipEmpty())) {
    if (!absl::SimpleAtoi(part, &dims.emplace_back())) return InvalidArgument("'", FromAbsl(part), "' is not a size");
  }
  WEIR_ASSIGN_OR_RETURN(Shape shape, Shape::Make(dims));
  return std::pair(*dtype, std::move(shape));
}

// A number that is finite and not negative.
StatusOr<double> ParseAmount(absl::string_view text) {
  double value = 0;
  if (!absl::SimpleAtod(text, &value) || !std::isfinite(value) || value < 0) {
    return InvalidArgument("'", FromAbsl(text), "' is not an amount");
  }
  return value;
}

// The pattern that matches everything also needs a text.
std::string PatternText(const DeviceName& name) {
  std::string text = name.ToString();
  return text.empty() ? "/" : text;
}

}  // namespace

void CostTable::Mean::Add(double other, int64_t times) {
  const int64_t weight = std::min(count, kMostWeight);
  const int64_t added = std::min(times, kMostWeight);
  value =
      (value * static_cast<double>(weight) + other * static_cast<double>(added)) / static_cast<double>(weight + added);
  count = std::min(count, INT64_MAX - times) + times;
}

void CostTable::AddTime(std::string_view device, std::string_view op, std::string_view signature, double nanoseconds,
                        int64_t count) {
  if (!(nanoseconds > 0) || !std::isfinite(nanoseconds) || count <= 0) return;
  times_[{std::string(device), std::string(op), std::string(signature)}].Add(nanoseconds, count);
  by_type_[{TypeOfDevice(device), std::string(op), std::string(signature)}].Add(nanoseconds, count);
}

std::optional<double> CostTable::Time(std::string_view device, std::string_view op, std::string_view signature) const {
  auto own = times_.find({std::string(device), std::string(op), std::string(signature)});
  if (own != times_.end()) return own->second.value;
  auto typed = by_type_.find({TypeOfDevice(device), std::string(op), std::string(signature)});
  if (typed != by_type_.end()) return typed->second.value;
  return std::nullopt;
}

void CostTable::SetShape(std::string_view tensor, DType dtype, Shape shape) {
  shapes_.insert_or_assign(std::string(tensor), TypedShape{dtype, std::move(shape)});
}

const Shape* CostTable::FindShape(std::string_view tensor) const {
  auto found = shapes_.find(tensor);
  return found == shapes_.end() ? nullptr : &found->second.shape;
}

Status CostTable::SetLink(std::string_view from, std::string_view to, LinkCost cost) {
  WEIR_ASSIGN_OR_RETURN(DeviceName from_name, DeviceName::Parse(from));
  WEIR_ASSIGN_OR_RETURN(DeviceName to_name, DeviceName::Parse(to));
  std::erase_if(links_, [&](const Link& link) { return link.from == from_name && link.to == to_name; });
  links_.push_back({std::move(from_name), std::move(to_name), cost});
  return OkStatus();
}

std::optional<LinkCost> CostTable::FindLink(const DeviceName& from, const DeviceName& to) const {
  for (auto link = links_.rbegin(); link != links_.rend(); ++link) {
    if (from.Matches(link->from) && to.Matches(link->to)) return link->cost;
  }
  return std::nullopt;
}

void CostTable::Merge(const CostTable& other) {
  for (const auto& [key, mean] : other.times_) {
    AddTime(std::get<0>(key), std::get<1>(key), std::get<2>(key), mean.value, mean.count);
  }
  for (const auto& [name, typed] : other.shapes_) SetShape(name, typed.dtype, typed.shape);
  for (const Link& link : other.links_) {
    // Valid in the other table, so valid here.
    SetLink(PatternText(link.from), PatternText(link.to), link.cost).IgnoreError();
  }
}

std::string CostTable::ToText() const {
  std::string out = Cat(kHeader, "\n");
  for (const auto& [key, mean] : times_) {
    out += absl::StrFormat("time %s %s %s %d %.6g\n", std::get<0>(key), std::get<1>(key), std::get<2>(key), mean.count,
                           mean.value);
  }
  for (const auto& [name, typed] : shapes_) {
    out += Cat("shape ", name, " ", Name(typed.dtype), typed.shape.ToString(), "\n");
  }
  for (const Link& link : links_) {
    out += absl::StrFormat("link %s %s %.6g %.6g\n", PatternText(link.from), PatternText(link.to), link.cost.latency,
                           link.cost.per_byte > 0 ? kSecond / link.cost.per_byte : 0.0);
  }
  return out;
}

Status CostTable::AddLine(std::string_view line) {
  std::vector<absl::string_view> fields = absl::StrSplit(ToAbsl(line), ' ', absl::SkipEmpty());
  if (fields.empty() || fields[0][0] == '#') return OkStatus();
  if (fields[0] == "time" && fields.size() == 6) {
    int64_t count = 0;
    if (!absl::SimpleAtoi(fields[4], &count) || count <= 0) return InvalidArgument("'", fields[4], "' is not a count");
    WEIR_ASSIGN_OR_RETURN(double mean, ParseAmount(fields[5]));
    AddTime(FromAbsl(fields[1]), FromAbsl(fields[2]), FromAbsl(fields[3]), mean, count);
    return OkStatus();
  }
  if (fields[0] == "shape" && fields.size() == 3) {
    WEIR_ASSIGN_OR_RETURN(auto typed, ParseTypedShape(FromAbsl(fields[2])));
    SetShape(FromAbsl(fields[1]), typed.first, std::move(typed.second));
    return OkStatus();
  }
  if (fields[0] == "link" && fields.size() == 5) {
    WEIR_ASSIGN_OR_RETURN(double latency, ParseAmount(fields[3]));
    WEIR_ASSIGN_OR_RETURN(double speed, ParseAmount(fields[4]));
    return SetLink(FromAbsl(fields[1]), FromAbsl(fields[2]), {latency, speed > 0 ? kSecond / speed : 0});
  }
  return InvalidArgument("'", line, "' is neither a time, a shape nor a link");
}

StatusOr<CostTable> CostTable::FromText(std::string_view text) {
  CostTable out;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(ToAbsl(text), '\n')) {
    if (++number == 1) {
      if (FromAbsl(line) != kHeader) return InvalidArgument("A cost file must begin with '", kHeader, "'");
      continue;
    }
    Status added = out.AddLine(FromAbsl(line));
    if (!added.ok()) return Annotate(added, Cat("line ", number, ": "));
  }
  return out;
}

}  // namespace weir
