#include "pkg/rpc/conversion.h"

#include "gmock/gmock.h"

#include "pkg/rpc/testing/client_conversion.h"

namespace yardmaster::rpc {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;

PodPlanStatus Pod(const std::string& node, const std::string& name, PlanState state) {
  PodPlanStatus pod;
  pod.pod_namespace = "team";
  pod.pod_name = name;
  pod.pod_uid = "uid-" + name;
  pod.node = node;
  pod.gang = "trainingjob-a";
  pod.rank = 3;
  pod.level = 0;
  pod.traffic_class = 96;
  pod.peers = 16;
  pod.plan_file = "/run/x.json";
  pod.state = state;
  pod.last_error = "why";
  return pod;
}

TEST(Conversion, EverythingSurvivesTheWire) {
  AgentStatus status;
  status.nodes = {"n1", "n2"};
  for (PlanState state : {PlanState::kAwaiting, PlanState::kSyncing, PlanState::kSynced,
                          PlanState::kStale, PlanState::kInvalid}) {
    status.pods.push_back(Pod("n1", "p" + std::to_string(static_cast<int>(state)), state));
  }
  status.pods[1].level = std::nullopt;  // not the same as level 0
  status.links = {{"n1", 0, 1, "eth2", false}, {"n1", 1, 0, "mlx5_1/1", true}};

  agent::v1::StatusResponse parsed;
  ASSERT_TRUE(parsed.ParseFromString(ToProto(status).SerializeAsString()));
  EXPECT_EQ(FromProto(parsed), status);
}

TEST(Conversion, AReportSurvivesTheWireAndWhatIsNotMeasuredStaysSo) {
  IterationReport report;
  report.pod_uid = "u1";
  report.means.samples = 7;
  EXPECT_EQ(FromProto(ToProto(report)), report);
  report.means.iteration_seconds = 1.5;
  report.means.compute_seconds = 1;
  report.means.communication_seconds = 0;
  report.means.communication_start = 0.5;
  report.means.flop = 1e15;
  report.means.sent_bytes = {1e9, 0};
  EXPECT_EQ(FromProto(ToProto(report)), report);
}

TEST(Conversion, AStateOfALaterVersionIsOnItsWay) {
  agent::v1::StatusResponse response;
  response.add_pods()->set_state(static_cast<agent::v1::PodPlan::State>(77));
  EXPECT_EQ(FromProto(response).pods.at(0).state, PlanState::kSyncing);
}

TEST(Filter, OrderIsByNodeThenPodWhateverCameIn) {
  AgentStatus status;
  status.nodes = {"n2", "n1"};
  status.pods = {Pod("n2", "a", PlanState::kSynced), Pod("n1", "b", PlanState::kSynced),
                 Pod("n1", "a", PlanState::kSynced)};
  status.links = {{"n1", 1, 0, "b", true}, {"n1", 0, 1, "a", true}, {"n1", 0, 0, "c", true}};
  const AgentStatus all = Filtered(status, {});
  EXPECT_THAT(all.nodes, ElementsAre("n1", "n2"));
  EXPECT_THAT(all.pods,
              ElementsAre(Pod("n1", "a", PlanState::kSynced), Pod("n1", "b", PlanState::kSynced),
                          Pod("n2", "a", PlanState::kSynced)));
  EXPECT_THAT(all.links,
              ElementsAre(Field(&LinkStatus::device, "c"), Field(&LinkStatus::device, "a"),
                          Field(&LinkStatus::device, "b")));
}

TEST(Filter, KeepsOneNodeOrOnePod) {
  AgentStatus status;
  status.nodes = {"n1", "n2"};
  status.pods = {Pod("n1", "a", PlanState::kSynced), Pod("n1", "b", PlanState::kStale),
                 Pod("n2", "c", PlanState::kSynced)};
  status.links = {{"n1", 0, 0, "eth0", true}, {"n2", 0, 0, "eth0", true}};

  const AgentStatus node = Filtered(status, {.node = "n1", .pod_uid = ""});
  EXPECT_THAT(node.nodes, ElementsAre("n1"));
  EXPECT_EQ(node.pods.size(), 2u);
  EXPECT_EQ(node.links.size(), 1u);

  const AgentStatus pod = Filtered(status, {.node = "", .pod_uid = "uid-b"});
  EXPECT_THAT(pod.pods, ElementsAre(Pod("n1", "b", PlanState::kStale)));
  EXPECT_TRUE(Filtered(status, {.node = "n2", .pod_uid = "uid-b"}).pods.empty());
}

}  // namespace
}  // namespace yardmaster::rpc
