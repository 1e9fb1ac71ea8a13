#include "weir/passes/placer.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "weir/passes/ready_tasks.h"

namespace weir {
namespace {

// The state that both algorithms keep while they visit the tasks.
class PlacementState {
 public:
  explicit PlacementState(const SchedulingProblem& problem)
      : problem_(problem), bound_(problem.num_devices(), 0), rest_(problem.feasible.size()) {
    schedule_.device.assign(problem.feasible.size(), -1);
    schedule_.start.assign(problem.tasks.size(), 0);
    schedule_.finish.assign(problem.tasks.size(), 0);
    for (std::vector<double>& costs : rest_) costs.assign(problem.num_devices(), 0);
    for (const SchedulingProblem::Task& task : problem.tasks) {
      for (int d = 0; d < problem.num_devices(); ++d) rest_[task.group][d] += task.cost[d];
    }
  }

  const Schedule& schedule() const { return schedule_; }
  Schedule Take() { return std::move(schedule_); }

  // Schedules a task on the device where it finishes first, counting the remaining work of its group and of other tasks
  // that are bound to the device. `start` returns when the task could begin on a device, given when its inputs arrive
  // there.
  template <typename Start>
  int Put(int task, const Start& start) {
    const SchedulingProblem::Task& info = problem_.tasks[task];
    int& device = schedule_.device[info.group];
    const bool fresh = device < 0;
    double begin = 0;
    if (fresh) {
      double best = std::numeric_limits<double>::infinity();
      for (int d : problem_.feasible[info.group]) {
        const double at = start(d, InputsArrive(problem_, schedule_, task, d), info.cost[d]);
        const double others = rest_[info.group][d] - info.cost[d];
        const double score = at + info.cost[d] + (others > 0 ? others + bound_[d] : 0);
        if (device >= 0 && score >= best) continue;
        best = score;
        device = d;
        begin = at;
      }
      bound_[device] += rest_[info.group][device];
    } else {
      begin = start(device, InputsArrive(problem_, schedule_, task, device), info.cost[device]);
    }
    const double cost = info.cost[device];
    bound_[device] -= cost;
    schedule_.start[task] = begin;
    schedule_.finish[task] = begin + cost;
    schedule_.makespan = std::max(schedule_.makespan, begin + cost);
    return device;
  }

 private:
  const SchedulingProblem& problem_;
  Schedule schedule_;
  std::vector<double> bound_;              // by device: the time of tasks that will run there but are not scheduled yet
  std::vector<std::vector<double>> rest_;  // by group and device: the time of all of its tasks
};

class GreedyPlacer : public Placer {
 public:
  StatusOr<Schedule> Place(const SchedulingProblem& problem) const override {
    WEIR_RETURN_IF_ERROR(problem.Check());
    PlacementState state(problem);
    std::vector<double> free(problem.num_devices(), 0);
    ReadyTasks ready(problem, [&](int task) {
      double done = 0;
      for (const auto& edge : problem.tasks[task].inputs) done = std::max(done, state.schedule().finish[edge.from]);
      return done;
    });
    while (!ready.empty()) {
      const int task = ready.Take().second;
      const int device = state.Put(
          task, [&](int d, double arrived, double cost) { return cost > 0 ? std::max(arrived, free[d]) : arrived; });
      if (problem.tasks[task].cost[device] > 0) free[device] = state.schedule().finish[task];
      ready.Finish(task);
    }
    return state.Take();
  }
};

class HeftPlacer : public Placer {
 public:
  StatusOr<Schedule> Place(const SchedulingProblem& problem) const override {
    WEIR_RETURN_IF_ERROR(problem.Check());
    const std::vector<double> ranks = UpwardRanks(problem);
    std::vector<int> order(problem.tasks.size());
    std::iota(order.begin(), order.end(), 0);
    // Ranks never increase towards the end, so inputs stay before their consumers.
    std::ranges::stable_sort(order, [&](int a, int b) { return ranks[a] > ranks[b]; });
    PlacementState state(problem);
    std::vector<BusyTimes> busy(problem.num_devices());
    for (int task : order) {
      const int device =
          state.Put(task, [&](int d, double arrived, double cost) { return busy[d].FirstGap(arrived, cost); });
      busy[device].Add(state.schedule().start[task], problem.tasks[task].cost[device]);
    }
    return state.Take();
  }

 private:
  // The mean over all pairs of different devices.
  static LinkCost MeanLink(const SchedulingProblem& problem) {
    LinkCost mean;
    const int n = problem.num_devices();
    for (int from = 0; from < n; ++from) {
      for (int to = 0; to < n; ++to) {
        if (from == to) continue;
        mean.latency += problem.links[from][to].latency;
        mean.per_byte += problem.links[from][to].per_byte;
      }
    }
    const double pairs = std::max(1, n * (n - 1));
    return {mean.latency / pairs, mean.per_byte / pairs};
  }

  // By task: the length of the longest path from the task to the end, including the task's mean cost.
  static std::vector<double> UpwardRanks(const SchedulingProblem& problem) {
    const LinkCost link = MeanLink(problem);
    std::vector<double> ranks(problem.tasks.size(), 0);  // before a task's turn: the longest path after it
    for (size_t t = problem.tasks.size(); t-- > 0;) {
      const SchedulingProblem::Task& task = problem.tasks[t];
      const std::vector<int>& devices = problem.feasible[task.group];
      double cost = 0;
      for (int d : devices) cost += task.cost[d] / static_cast<double>(devices.size());
      ranks[t] += cost;
      for (const auto& edge : task.inputs) {
        ranks[edge.from] = std::max(ranks[edge.from], link.Time(edge.bytes) + ranks[t]);
      }
    }
    return ranks;
  }
};

// Every group on `device` if possible, else on its best device.
std::vector<int> Together(const SchedulingProblem& problem, int device) {
  std::vector<int> out;
  for (const std::vector<int>& devices : problem.feasible) {
    const bool fits = std::ranges::find(devices, device) != devices.end();
    out.push_back(fits ? device : devices.front());
  }
  return out;
}

}  // namespace

StatusOr<PlacerKind> ParsePlacerKind(std::string_view text) {
  if (text == "default") return PlacerKind::kDefault;
  if (text == "greedy") return PlacerKind::kGreedy;
  if (text == "heft") return PlacerKind::kHeft;
  return InvalidArgument("There is no placer '", text, "'; the placers are default, greedy and heft");
}

std::unique_ptr<Placer> MakePlacer(PlacerKind kind) {
  switch (kind) {
    case PlacerKind::kDefault:
      return nullptr;
    case PlacerKind::kGreedy:
      return std::make_unique<GreedyPlacer>();
    case PlacerKind::kHeft:
      return std::make_unique<HeftPlacer>();
  }
  return nullptr;
}

StatusOr<Schedule> PlaceOrKeepTogether(const Placer& placer, const SchedulingProblem& problem) {
  WEIR_ASSIGN_OR_RETURN(Schedule planned, placer.Place(problem));
  Schedule best = Simulate(problem, std::move(planned.device));
  for (int d = 0; d < problem.num_devices(); ++d) {
    Schedule together = Simulate(problem, Together(problem, d));
    if (together.makespan < best.makespan) best = std::move(together);
  }
  return best;
}

}  // namespace weir
