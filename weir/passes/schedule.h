// Scheduling: when tasks with known costs run on devices with known links.
//
// A device runs one task at a time. A task may start when its inputs are on its device; a value that is made elsewhere
// arrives after its link's latency and the time of its bytes. Links carry any number of values at once. Tasks of one
// group run on one device. All times are nanoseconds.
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
    int64_t bytes = 0;  // 0: only the order matters
  };
  struct Task {
    std::vector<double> cost;  // by device
    int group = 0;
    std::vector<Edge> inputs;
  };
  std::vector<Task> tasks;                   // inputs before their consumers
  std::vector<std::vector<int>> feasible;    // by group: the devices it may run on, best first
  std::vector<std::vector<LinkCost>> links;  // [from][to], as many rows as devices

  int num_devices() const { return static_cast<int>(links.size()); }
  // INVALID_ARGUMENT where an index, a size or an order is wrong, or a group has no device.
  Status Check() const;
};

struct Schedule {
  std::vector<int> device;            // by group
  std::vector<double> start, finish;  // by task
  double makespan = 0;
};

// What a device is busy with.
class BusyTimes {
 public:
  // The first time from `ready` on at which the device is free for `duration`, also between what it does already.
  double FirstGap(double ready, double duration) const;
  void Add(double start, double duration);
  double end() const { return busy_.empty() ? 0 : busy_.rbegin()->second; }

 private:
  std::map<double, double> busy_;  // start to end; neighbours that touch are one
};

// When the inputs of a task are on a device; tasks it depends on are scheduled.
double InputsArrive(const SchedulingProblem& problem, const Schedule& schedule, int task, int device);

// The tasks as an executor would run them on given devices: first come, first served.
// REQUIRES: problem.Check() is OK; a device for every group.
Schedule Simulate(const SchedulingProblem& problem, std::vector<int> device_of_group);

}  // namespace weir

#endif  // WEIR_PASSES_SCHEDULE_H_
