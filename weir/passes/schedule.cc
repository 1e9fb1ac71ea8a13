#include "weir/passes/schedule.h"

#include <algorithm>

#include "weir/passes/ready_tasks.h"

namespace weir {

Status SchedulingProblem::Check() const {
  if (links.empty()) return InvalidArgument("There is no device to place nodes on");
  for (const auto& row : links) {
    if (row.size() != links.size()) return InvalidArgument("The table of links is not square");
  }
  for (size_t g = 0; g < feasible.size(); ++g) {
    if (feasible[g].empty()) return InvalidArgument("Group ", g, " of nodes has no device that it may run on");
    for (int d : feasible[g]) {
      if (d < 0 || d >= num_devices()) return InvalidArgument("Group ", g, " names the unknown device ", d);
    }
  }
  for (size_t t = 0; t < tasks.size(); ++t) {
    const Task& task = tasks[t];
    if (task.group < 0 || task.group >= static_cast<int>(feasible.size()) || task.cost.size() != links.size()) {
      return InvalidArgument("Task ", t, " has no group or not a cost for every device");
    }
    for (const Edge& edge : task.inputs) {
      if (edge.from < 0 || edge.from >= static_cast<int>(t)) {
        return InvalidArgument("Task ", t, " comes before its input ", edge.from);
      }
    }
  }
  return OkStatus();
}

double BusyTimes::FirstGap(double ready, double duration) const {
  if (duration <= 0) return ready;
  auto next = busy_.upper_bound(ready);
  if (next != busy_.begin()) ready = std::max(ready, std::prev(next)->second);
  while (next != busy_.end() && next->first - ready < duration) {
    ready = std::max(ready, next->second);
    ++next;
  }
  return ready;
}

void BusyTimes::Add(double start, double duration) {
  if (duration <= 0) return;
  auto added = busy_.emplace(start, start + duration).first;
  auto next = std::next(added);
  if (next != busy_.end() && next->first <= added->second) {
    added->second = std::max(added->second, next->second);
    busy_.erase(next);
  }
  if (added == busy_.begin()) return;
  auto before = std::prev(added);
  if (before->second < added->first) return;
  before->second = std::max(before->second, added->second);
  busy_.erase(added);
}

double InputsArrive(const SchedulingProblem& problem, const Schedule& schedule, int task, int device) {
  double arrive = 0;
  for (const SchedulingProblem::Edge& edge : problem.tasks[task].inputs) {
    const int from = schedule.device[problem.tasks[edge.from].group];
    const double way = from == device ? 0 : problem.links[from][device].Time(edge.bytes);
    arrive = std::max(arrive, schedule.finish[edge.from] + way);
  }
  return arrive;
}

Schedule Simulate(const SchedulingProblem& problem, std::vector<int> device_of_group) {
  Schedule out;
  out.device = std::move(device_of_group);
  out.start.assign(problem.tasks.size(), 0);
  out.finish.assign(problem.tasks.size(), 0);
  std::vector<double> free(problem.num_devices(), 0);
  auto device = [&](int task) { return out.device[problem.tasks[task].group]; };
  ReadyTasks ready(problem, [&](int task) { return InputsArrive(problem, out, task, device(task)); });
  while (!ready.empty()) {
    const auto [arrived, task] = ready.Take();
    double& free_from = free[device(task)];
    const double cost = problem.tasks[task].cost[device(task)];
    // A task without cost does not occupy the device.
    out.start[task] = cost > 0 ? std::max(arrived, free_from) : arrived;
    out.finish[task] = out.start[task] + cost;
    if (cost > 0) free_from = out.finish[task];
    out.makespan = std::max(out.makespan, out.finish[task]);
    ready.Finish(task);
  }
  return out;
}

}  // namespace weir
