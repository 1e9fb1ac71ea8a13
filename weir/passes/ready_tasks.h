// ReadyTasks: the tasks of a scheduling problem whose inputs are done, earliest first.
#ifndef WEIR_PASSES_READY_TASKS_H_
#define WEIR_PASSES_READY_TASKS_H_

#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "weir/passes/schedule.h"

namespace weir {

class ReadyTasks {
 public:
  // `when` returns the time by which ready tasks are ordered.
  ReadyTasks(const SchedulingProblem& problem, std::function<double(int task)> when)
      : when_(std::move(when)), pending_(problem.tasks.size()), consumers_(problem.tasks.size()) {
    for (size_t t = 0; t < problem.tasks.size(); ++t) {
      pending_[t] = static_cast<int>(problem.tasks[t].inputs.size());
      for (const SchedulingProblem::Edge& edge : problem.tasks[t].inputs) {
        consumers_[edge.from].push_back(static_cast<int>(t));
      }
      if (pending_[t] == 0) ready_.emplace(0, static_cast<int>(t));
    }
  }

  bool empty() const { return ready_.empty(); }
  // Removes and returns the earliest task; among equal times, the one with the lowest index.
  std::pair<double, int> Take() {
    std::pair<double, int> first = ready_.top();
    ready_.pop();
    return first;
  }
  void Finish(int task) {
    for (int consumer : consumers_[task]) {
      if (--pending_[consumer] == 0) ready_.emplace(when_(consumer), consumer);
    }
  }

 private:
  const std::function<double(int)> when_;
  std::vector<int> pending_;
  std::vector<std::vector<int>> consumers_;
  std::priority_queue<std::pair<double, int>, std::vector<std::pair<double, int>>, std::greater<>> ready_;
};

}  // namespace weir

#endif  // WEIR_PASSES_READY_TASKS_H_
