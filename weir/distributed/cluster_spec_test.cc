#include "weir/distributed/cluster_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/proto/config.pb.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> Lines(const ClusterSpec& spec) {
  std::vector<std::string> out;
  for (const ClusterSpec::Task& task : spec.tasks()) out.push_back(Cat(task.name(), " ", task.address));
  return out;
}

TEST(ClusterSpec, ReadsJson) {
  auto plain = ClusterSpec::FromJson(R"({"worker": ["w0:1", "w1:2"], "ps": {"3": "p:4"}})");
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_THAT(Lines(*plain), ElementsAre("/job:ps/replica:0/task:3 p:4", "/job:worker/replica:0/task:0 w0:1",
                                         "/job:worker/replica:0/task:1 w1:2"));
  EXPECT_EQ(Lines(*ClusterSpec::FromJson(R"({"cluster": {"ps": ["p:4"]}})")),
            Lines(*ClusterSpec::FromJson(R"({"ps": ["p:4"]})")));
}

TEST(ClusterSpec, RefusesBadJson) {
  for (const char* text :
       {"", "[]", "3", "{\"ps\": 3}", "{\"ps\": [3]}", "{\"ps\": [\"nohost\"]}", "{\"ps\": [\"h:0\"]}",
        "{\"ps\": [\"h:70000\"]}", "{\"p s\": [\"h:1\"]}", "{\"ps\": {\"x\": \"h:1\"}}", "{\"ps\": {\"-1\": \"h:1\"}}",
        "{\"ps\": [\"h:1\"", "{\"\": [\"h:1\"]}"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ClusterSpec::FromJson(text).status())) << text;
  }
}

TEST(ClusterSpec, GoesThroughTheWire) {
  ClusterSpec spec;
  ASSERT_TRUE(spec.AddJob("worker", "a:1, b:2").ok());
  ASSERT_TRUE(spec.Add("ps", 2, "[::1]:9").ok());
  EXPECT_FALSE(spec.Add("ps", 2, "c:1").ok());
  ServerDef def;
  spec.ToProto(def.mutable_cluster());
  def.set_job_name("worker");
  def.set_task_index(1);
  auto place = FromServerDef(def);
  ASSERT_TRUE(place.ok()) << place.status();
  EXPECT_EQ(Lines(place->cluster), Lines(spec));
  EXPECT_EQ(TaskName(place->job, place->task), "/job:worker/replica:0/task:1");
  def.set_task_index(7);
  EXPECT_TRUE(absl::IsInvalidArgument(FromServerDef(def).status()));
}

TEST(ClusterSpec, ReadsTfConfig) {
  auto place = FromTfConfig(R"({"cluster": {"ps": ["p:1"], "worker": ["w:1", "w:2"]},
                                "task": {"type": "worker", "index": 1}, "environment": "cloud"})");
  ASSERT_TRUE(place.ok()) << place.status();
  EXPECT_EQ(place->job, "worker");
  EXPECT_EQ(place->task, 1);
  EXPECT_EQ(FromTfConfig(R"({"cluster": {"ps": ["p:1"]}, "task": {"type": "ps", "index": "0"}})")->task, 0);
  for (const char* text : {"", "{}", R"({"cluster": {"ps": ["p:1"]}})",
                           R"({"cluster": {"ps": ["p:1"]}, "task": {"type": "worker", "index": 0}})",
                           R"({"cluster": {"ps": ["p:1"]}, "task": {"type": "ps", "index": "x"}})"}) {
    Status status = FromTfConfig(text).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text;
  }
}

TEST(ClusterSpec, ReadsSlurmsLists) {
  EXPECT_THAT(ExpandSlurmNodes("n[1-3,7],m2").value(), ElementsAre("n1", "n2", "n3", "n7", "m2"));
  EXPECT_THAT(ExpandSlurmNodes("n[08-10]").value(), ElementsAre("n08", "n09", "n10"));
  EXPECT_THAT(ExpandSlurmCounts("2(x2),1").value(), ElementsAre(2, 2, 1));
  for (const char* bad : {"n[1", "n]1[", "n[3-1]", "n[a]", "a,,b", "n[1-999999999]"}) {
    EXPECT_FALSE(ExpandSlurmNodes(bad).ok()) << bad;
  }
  for (const char* bad : {"x", "0", "2(x", "2(x0)", "2(xx)"}) EXPECT_FALSE(ExpandSlurmCounts(bad).ok()) << bad;
}

TEST(ClusterSpec, FindsItsPlaceUnderSlurm) {
  std::map<std::string, std::string> variables = {
      {"SLURM_STEP_NODELIST", "n[1-2]"}, {"SLURM_STEP_TASKS_PER_NODE", "2(x2)"}, {"SLURM_PROCID", "2"}};
  auto get = [&](const char* name) { return variables[name]; };
  auto place = FromSlurm({{"ps", 1}, {"worker", 3}}, 8000, get);
  ASSERT_TRUE(place.ok()) << place.status();
  EXPECT_THAT(Lines(place->cluster),
              ElementsAre("/job:ps/replica:0/task:0 n1:8000", "/job:worker/replica:0/task:0 n1:8001",
                          "/job:worker/replica:0/task:1 n2:8000", "/job:worker/replica:0/task:2 n2:8001"));
  EXPECT_EQ(TaskName(place->job, place->task), "/job:worker/replica:0/task:1");
  EXPECT_TRUE(absl::IsInvalidArgument(FromSlurm({{"worker", 5}}, 8000, get).status()));
  variables.clear();
  EXPECT_TRUE(absl::IsNotFound(FromSlurm({{"worker", 1}}, 8000, get).status()));
}

}  // namespace
}  // namespace weir
