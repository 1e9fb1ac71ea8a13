#include "weir/passes/placer.h"

#include <algorithm>
#include <map>
#include <random>

#include "weir/base/strings.h"
#include "weir/graph/testing.h"

namespace weir {
namespace {

struct TestTask {
  std::vector<double> cost;
  std::vector<SchedulingProblem::Edge> inputs;
  std::vector<int> devices;  // all if empty
  int group = -1;            // its own if -1
};

SchedulingProblem MakeTestProblem(const std::vector<TestTask>& tasks, LinkCost link) {
  SchedulingProblem out;
  const int num_devices = static_cast<int>(tasks[0].cost.size());
  out.links.assign(num_devices, std::vector<LinkCost>(num_devices, link));
  std::vector<int> all(num_devices);
  for (int d = 0; d < num_devices; ++d) {
    all[d] = d;
    out.links[d][d] = {};
  }
  for (const TestTask& task : tasks) {
    const bool joins = task.group >= 0 && task.group < static_cast<int>(out.feasible.size());
    if (!joins) out.feasible.push_back(task.devices.empty() ? all : task.devices);
    out.tasks.push_back({task.cost, joins ? task.group : static_cast<int>(out.feasible.size()) - 1, task.inputs});
  }
  return out;
}

// "device:start-finish" of every task.
std::string ScheduleText(const SchedulingProblem& problem, const Schedule& schedule) {
  std::string out;
  for (size_t t = 0; t < problem.tasks.size(); ++t) {
    out +=
        Cat(t > 0 ? " " : "", schedule.device[problem.tasks[t].group], ":", schedule.start[t], "-", schedule.finish[t]);
  }
  return out;
}

struct WorkedCase {
  const char* name;
  std::vector<TestTask> tasks;
  LinkCost link;
  const char* greedy;
  const char* heft;
};

// Worked by hand.
const std::vector<WorkedCase>& WorkedCases() {
  static const auto* cases = new std::vector<WorkedCase>{
      {"a chain stays where its inputs are",
       {{{10, 10}, {}}, {{10, 9}, {{0, 5}}}, {{10, 10}, {{1, 5}}}},
       {0, 1},
       "0:0-10 0:10-20 0:20-30",
       "0:0-10 0:10-20 0:20-30"},
      {"a faster device is worth the way",
       {{{10, 10}, {}}, {{30, 5}, {{0, 5}}}},
       {2, 1},
       "0:0-10 1:17-22",
       "0:0-10 1:17-22"},
      {"two of a kind run side by side",
       {{{4, 4}, {}}, {{20, 20}, {{0, 3}}}, {{20, 20}, {{0, 3}}}, {{1, 1}, {{1, 1}, {2, 1}}}},
       {1, 1},
       "0:0-4 0:4-24 1:8-28 1:28-29",
       "0:0-4 0:4-24 1:8-28 1:28-29"},
      {"an expensive way keeps them together",
       {{{4, 4}, {}}, {{20, 20}, {{0, 50}}}, {{20, 20}, {{0, 50}}}},
       {0, 1},
       "0:0-4 0:4-24 0:24-44",
       "0:0-4 0:4-24 0:24-44"},
      {"only feasible devices",
       {{{4, 4}, {}, {1}}, {{5, 1}, {{0, 10}}, {0}}},
       {1, 0.1},
       "1:0-4 0:6-11",
       "1:0-4 0:6-11"},
      {"a group follows its first",
       {{{0, 0}, {}, {0, 1}}, {{9, 2}, {{0, 0}}, {}, 0}, {{3, 3}, {{1, 8}}}},
       {0, 1},
       "1:0-0 1:0-2 1:2-5",
       "1:0-0 1:0-2 1:2-5"},
      {"the long way to the end goes first",
       {{{3, 3}, {}}, {{3, 3}, {}}, {{3, 3}, {}}, {{9, 9}, {{2, 0}}}},
       {0, 0},
       "0:0-3 1:0-3 0:3-6 0:6-15",
       "1:0-3 1:3-6 0:0-3 0:3-12"},
  };
  return *cases;
}

TEST(Placer, WorkedCases) {
  for (const WorkedCase& c : WorkedCases()) {
    SchedulingProblem problem = MakeTestProblem(c.tasks, c.link);
    auto greedy = MakePlacer(PlacerKind::kGreedy)->Place(problem);
    auto heft = MakePlacer(PlacerKind::kHeft)->Place(problem);
    ASSERT_TRUE(greedy.ok() && heft.ok()) << c.name;
    EXPECT_EQ(ScheduleText(problem, *greedy), c.greedy) << c.name;
    EXPECT_EQ(ScheduleText(problem, *heft), c.heft) << c.name;
  }
}

// The example of the paper that describes HEFT: ten tasks, three processors, done after 80.
TEST(Placer, HeftFindsTheScheduleOfItsPaper) {
  SchedulingProblem problem = MakeTestProblem({{{14, 16, 9}, {}},
                                               {{13, 19, 18}, {{0, 18}}},
                                               {{11, 13, 19}, {{0, 12}}},
                                               {{13, 8, 17}, {{0, 9}}},
                                               {{12, 13, 10}, {{0, 11}}},
                                               {{13, 16, 9}, {{0, 14}}},
                                               {{7, 15, 11}, {{2, 23}}},
                                               {{5, 11, 14}, {{1, 19}, {3, 27}, {5, 15}}},
                                               {{18, 12, 20}, {{1, 16}, {3, 23}, {4, 13}}},
                                               {{21, 7, 16}, {{6, 17}, {7, 11}, {8, 13}}}},
                                              {0, 1});
  Schedule schedule = MakePlacer(PlacerKind::kHeft)->Place(problem).value();
  EXPECT_EQ(schedule.makespan, 80);
  EXPECT_EQ(ScheduleText(problem, schedule),
            "2:0-9 0:27-40 2:9-28 1:18-26 2:28-38 1:26-42 2:38-49 0:57-62 1:56-68 1:73-80");
}

TEST(Placer, KeepsTogetherWhatNeitherLooksAheadFor) {
  // The first task ties and goes to device 0; the second then pays for the way to 1, where both had better been.
  SchedulingProblem problem = MakeTestProblem({{{10, 10}, {}}, {{30, 5}, {{0, 5}}}}, {2, 1});
  for (PlacerKind kind : {PlacerKind::kGreedy, PlacerKind::kHeft}) {
    EXPECT_EQ(ScheduleText(problem, PlaceOrKeepTogether(*MakePlacer(kind), problem).value()), "1:0-10 1:10-15");
  }
}

TEST(Placer, RefusesMalformedProblems) {
  const SchedulingProblem good = MakeTestProblem({{{1, 1}, {}}, {{1, 1}, {{0, 4}}}}, {1, 1});
  std::vector<std::pair<const char*, std::function<void(SchedulingProblem&)>>> cases = {
      {"There is no device", [](SchedulingProblem& p) { p.links.clear(); }},
      {"not square", [](SchedulingProblem& p) { p.links[1].pop_back(); }},
      {"has no device that it may run on", [](SchedulingProblem& p) { p.feasible[1].clear(); }},
      {"names the unknown device 2", [](SchedulingProblem& p) { p.feasible[0] = {2}; }},
      {"Task 1 has no group", [](SchedulingProblem& p) { p.tasks[1].group = 7; }},
      {"not a cost for every device", [](SchedulingProblem& p) { p.tasks[0].cost = {1}; }},
      {"comes before its input", [](SchedulingProblem& p) { p.tasks[1].inputs[0].from = 1; }}};
  for (PlacerKind kind : {PlacerKind::kGreedy, PlacerKind::kHeft}) {
    EXPECT_TRUE(MakePlacer(kind)->Place(good).ok());
    for (const auto& [text, spoil] : cases) {
      SchedulingProblem bad = good;
      spoil(bad);
      Status status = MakePlacer(kind)->Place(bad).status();
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
      EXPECT_NE(Message(status).find(text), std::string::npos) << status;
    }
  }
  EXPECT_EQ(MakePlacer(PlacerKind::kDefault), nullptr);
  EXPECT_EQ(ParsePlacerKind("heft").value(), PlacerKind::kHeft);
  EXPECT_EQ(ParsePlacerKind("best").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(BusyTimes, FindsGaps) {
  BusyTimes busy;
  busy.Add(10, 10);
  busy.Add(30, 5);
  struct Case {
    double ready, duration, start;
  };
  for (const Case& c : std::vector<Case>{
           {0, 10, 0}, {0, 11, 35}, {5, 5, 5}, {12, 10, 20}, {12, 11, 35}, {32, 1, 35}, {21, 0, 21}, {40, 3, 40}}) {
    EXPECT_EQ(busy.FirstGap(c.ready, c.duration), c.start) << c.ready << " " << c.duration;
  }
  busy.Add(20, 10);  // now one piece
  EXPECT_EQ(busy.FirstGap(10, 1), 35);
  EXPECT_EQ(busy.end(), 35);
}

// Made-up problems: layers of tasks, some groups, some tasks that must be somewhere.
SchedulingProblem RandomProblem(uint32_t seed) {
  std::mt19937 random(seed);
  auto below = [&](int n) { return static_cast<int>(random() % static_cast<uint32_t>(n)); };
  const int num_devices = 1 + below(4), num_tasks = 1 + below(60);
  std::vector<TestTask> tasks;
  for (int t = 0; t < num_tasks; ++t) {
    TestTask task;
    for (int d = 0; d < num_devices; ++d) task.cost.push_back(below(5) == 0 ? 0 : below(1000));
    for (int i = below(4); i > 0 && t > 0; --i) task.inputs.push_back({below(t), below(3) == 0 ? 0 : below(5000)});
    if (below(6) == 0) task.devices = {below(num_devices)};
    if (below(4) == 0 && t > 0) task.group = below(t);
    tasks.push_back(std::move(task));
  }
  return MakeTestProblem(tasks, {static_cast<double>(below(300)), below(100) / 50.0});
}

// Every task after its inputs have come, no two at once on a device.
void ExpectPossible(const SchedulingProblem& problem, const Schedule& schedule) {
  std::map<int, std::vector<std::pair<double, double>>> busy;
  for (size_t g = 0; g < problem.feasible.size(); ++g) {
    const auto& devices = problem.feasible[g];
    const bool used = std::ranges::any_of(problem.tasks, [&](const auto& t) { return t.group == static_cast<int>(g); });
    EXPECT_TRUE(!used || std::ranges::find(devices, schedule.device[g]) != devices.end());
  }
  for (size_t t = 0; t < problem.tasks.size(); ++t) {
    const int device = schedule.device[problem.tasks[t].group];
    EXPECT_GE(schedule.start[t], InputsArrive(problem, schedule, static_cast<int>(t), device));
    EXPECT_DOUBLE_EQ(schedule.finish[t], schedule.start[t] + problem.tasks[t].cost[device]);
    EXPECT_LE(schedule.finish[t], schedule.makespan);
    if (schedule.finish[t] > schedule.start[t]) busy[device].emplace_back(schedule.start[t], schedule.finish[t]);
  }
  for (auto& [device, times] : busy) {
    std::ranges::sort(times);
    for (size_t i = 1; i < times.size(); ++i) EXPECT_LE(times[i - 1].second, times[i].first);
  }
}

TEST(Placer, SchedulesOfRandomProblemsArePossible) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    SchedulingProblem problem = RandomProblem(seed);
    for (PlacerKind kind : {PlacerKind::kGreedy, PlacerKind::kHeft}) {
      auto placer = MakePlacer(kind);
      Schedule own = placer->Place(problem).value();
      ExpectPossible(problem, own);
      Schedule best = PlaceOrKeepTogether(*placer, problem).value();
      ExpectPossible(problem, best);
      EXPECT_LE(best.makespan, Simulate(problem, own.device).makespan);
      // Where one device can do everything, the plan is no worse than the best of those.
      for (int d = 0; d < problem.num_devices(); ++d) {
        const bool alone =
            std::ranges::all_of(problem.feasible, [&](const auto& f) { return std::ranges::find(f, d) != f.end(); });
        std::vector<int> all_there(problem.feasible.size(), d);
        EXPECT_TRUE(!alone || best.makespan <= Simulate(problem, all_there).makespan);
      }
    }
  }
}

}  // namespace
}  // namespace weir
