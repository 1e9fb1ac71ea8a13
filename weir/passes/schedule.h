// Scheduling of tasks with known costs on devices with known links.
//
// A device runs one task at a time. A task can start when its inputs are on its device; a value from another device
// arrives after the latency of the link plus its size divided by the bandwidth. Links are not shared resources: any
// number of values can be in transit. The tasks of a group run on one device. All times are in nanoseconds.
#ifndef WEIR_PASSES_SCHEDULE_H_
#define WEIR_PASSES_SCHEDULE_H_

#include <cstdint>
#include <map>
#include <vector>

#include "weir/base/status.h"

namespace weir {

struct LinkCost {
  double latency = 0;
  double per_byte = 0;
  double Time(int64_t bytes) const { return latency + per_byte * static_cast<double>(bytes); }
  bool operator==(const LinkCost&) const = default;
};

struct SchedulingProblem {
  struct Edge {
    int from = 0;
    int64_t bytes = 0;  // 0: a control dependency
  };
  struct Task {
    std::vector<double> cost;  // by device
    int group = 0;
    std::vector<Edge> inputs;
  };
  std::vector<Task> tasks;                   // in topological order
  std::vector<std::vector<int>> feasible;    // by group: the devices it may run on, best first
  std::vector<std::vector<LinkCost>> links;  // [from][to], as many rows as devices

  int num_devices() const { return static_cast<int>(links.size()); }
  // INVALID_ARGUMENT if an index, a size or the order is wrong, or if a group has no device.
  Status Check() const;
};

struct Schedule {
  std::vector<int> device;            // by group
  std::vector<double> start, finish;  // by task
  double makespan = 0;
};

// The times at which a device is busy.
class BusyTimes {
 public:
  // The earliest time, not before `ready`, at which the device is idle for `duration`; gaps between tasks count.
  double FirstGap(double ready, double duration) const;
  void Add(double start, double duration);
  double end() const { return busy_.empty() ? 0 : busy_.rbegin()->second; }

 private:
  std::map<double, double> busy_;  // start to end; adjacent intervals are merged
};

// The time at which all inputs of a task are on a device. REQUIRES: the tasks it depends on are scheduled.
double InputsArrive(const SchedulingProblem& problem, const Schedule& schedule, int task, int device);

// Simulates an executor that runs the tasks on the given devices, first come, first served.
// REQUIRES: problem.Check() is OK; every group has a device.
Schedule Simulate(const SchedulingProblem& problem, std::vector<int> device_of_group);

}  // namespace weir

#endif  // WEIR_PASSES_SCHEDULE_H_
