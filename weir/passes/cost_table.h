// CostTable: measured costs, which can be kept in a file between runs.
//
// The table has the mean time of each operation by shapes and device; every measurement updates the mean, so that the
// table follows the machine. It also has the shapes of tensors that shape inference cannot determine, and the links
// between devices. The file is text with one entry per line and fields separated by blanks:
//
//   weir costs 1
//   time /job:localhost/replica:0/task:0/device:CPU:0 MatMul float[64,10];float[10,5]->float[64,5] 12 5321.5
//   shape images:0 float[64,784]
//   link /job:worker /job:ps 60000 1.2e9
//
// A time line ends with the number of measurements and their mean in nanoseconds. A link line has the latency in
// nanoseconds and the bandwidth in bytes per second from devices that match the first pattern to devices that match the
// second; the last matching line counts.
#ifndef WEIR_PASSES_COST_TABLE_H_
#define WEIR_PASSES_COST_TABLE_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "weir/base/strings.h"
#include "weir/framework/device.h"
#include "weir/passes/schedule.h"
#include "weir/tensor/dtype.h"
#include "weir/tensor/shape.h"

namespace weir {

class CostTable {
 public:
  // INVALID_ARGUMENT, with the line number, if a line is malformed.
  static StatusOr<CostTable> FromText(std::string_view text);
  std::string ToText() const;

  // `signature` describes the tensors of the node (NodeSignature). Times that are not positive numbers are ignored.
  void AddTime(std::string_view device, std::string_view op, std::string_view signature, double nanoseconds,
               int64_t count = 1);
  // The mean time on this device; if there is none, the mean on devices of the same type.
  std::optional<double> Time(std::string_view device, std::string_view op, std::string_view signature) const;

  void SetShape(std::string_view tensor, DType dtype, Shape shape);
  const Shape* FindShape(std::string_view tensor) const;  // null if there is none

  // The patterns are full or partial device names.
  Status SetLink(std::string_view from, std::string_view to, LinkCost cost);
  std::optional<LinkCost> FindLink(const DeviceName& from, const DeviceName& to) const;

  // Adds the entries of another table. Means are weighted by their numbers of measurements.
  void Merge(const CostTable& other);
  bool empty() const { return times_.empty() && shapes_.empty() && links_.empty(); }
  size_t num_times() const { return times_.size(); }

 private:
  struct Mean {
    int64_t count = 0;
    double value = 0;
    void Add(double other, int64_t times);
  };
  struct TypedShape {
    DType dtype;
    Shape shape;
  };
  struct Link {
    DeviceName from, to;
    LinkCost cost;
  };
  Status AddLine(std::string_view line);

  std::map<std::tuple<std::string, std::string, std::string>, Mean> times_;    // by device, op, signature
  std::map<std::tuple<std::string, std::string, std::string>, Mean> by_type_;  // by type, op, signature
  std::map<std::string, TypedShape, std::less<>> shapes_;
  std::vector<Link> links_;
};

}  // namespace weir

#endif  // WEIR_PASSES_COST_TABLE_H_
