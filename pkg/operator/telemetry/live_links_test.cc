#include "pkg/operator/telemetry/live_links.h"

#include "gmock/gmock.h"

#include "pkg/operator/telemetry/node_token.h"
#include "pkg/operator/testing/network_fixture.h"

namespace yardmaster::op {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

TEST(LiveLinksTest, CountsChangesOnly) {
  LiveLinks links;
  links.Put("a", {});
  EXPECT_EQ(links.version(),
            1u);  // the stream now takes precedence over the node's annotation
  links.Put("a", {});
  EXPECT_EQ(links.version(), 1u);
  links.Put("a", {{0, 1}});
  links.Put("b", {});
  EXPECT_EQ(links.version(), 3u);
  using Ports = std::vector<api::NicPortKey>;
  EXPECT_THAT(links.Take(), UnorderedElementsAre(Pair("a", Ports{{0, 1}}), Pair("b", Ports{})));
  links.Drop("a");
  links.Drop("a");
  EXPECT_EQ(links.version(), 4u);
}

TEST_F(NetworkControllerTest, AStreamSpeaksForItsHostsPortsAndForNoOthers) {
  const std::string host = HostOf(0, 0);
  const std::string other = HostOf(0, 1);
  const auto cable = [&](const std::string& name, int rail, int port) {
    return network_->host_cable({places_.FindHost(name), rail, port}).index();
  };
  std::vector<std::uint8_t> down(static_cast<std::size_t>(network_->num_cables()), 0);
  down[cable(host, 1, 0)] = down[cable(other, 1, 0)] = 1;  // by annotations
  ApplyLiveLinks({{host, {{0, 1}, {99, 0}, {0, 99}}}, {"no-such-host", {{0, 0}}}}, *network_, down);
  EXPECT_EQ(down[cable(host, 0, 1)], 1);
  EXPECT_EQ(down[cable(host, 1, 0)], 0);
  EXPECT_EQ(down[cable(other, 1, 0)], 1);
  EXPECT_EQ(std::count(down.begin(), down.end(), 1), 2);
}

TEST_F(NetworkControllerTest, APortThatAStreamReportsIsLostInTheNextRound) {
  LiveLinks links;
  NetworkController::Options options;
  options.live_links = &links;
  Start(options);
  AddGang("a", 0, 1);
  RunUntilStable();
  const api::PeerPaths peer = PathsOf("a-0").rails[0].peers[0];
  const std::string host =
      client_.Find(kube::Pods(), "team", "a-0").value()["spec"]["nodeName"].get<std::string>();
  links.Put(host, {{0, peer.plane}});
  EXPECT_EQ(Round().cables_down, 1);
  clock_.Advance(10'000);
  RunUntilStable();
  const api::PodPathPlan now_planned = PathsOf("a-0");
  for (const api::PeerPaths& now : now_planned.rails[0].peers) {
    EXPECT_NE(now.plane, peer.plane);
  }
  EXPECT_EQ(ConditionOf("LinksUp").status, api::ConditionStatus::kFalse);
  // Without the stream the annotation counts, and there is none.
  links.Drop(host);
  EXPECT_EQ(Round().cables_down, 0);
}

class NodeOfReviewTest : public ::testing::Test {
 protected:
  static json Answer() {
    return {{"status",
             {{"authenticated", true},
              {"audiences", {"yardmaster.dev/reports"}},
              {"user",
               {{"username", "system:serviceaccount:yardmaster-system:yardmaster-agent"},
                {"extra", {{"authentication.kubernetes.io/node-name", {"n1"}}}}}}}}};
  }
  std::string Why() const {
    const auto node = Read();
    EXPECT_EQ(node.status().code(), absl::StatusCode::kUnauthenticated);
    return std::string(node.status().message());
  }
  absl::StatusOr<std::string> Read() const {
    return NodeOfReview(answer_, "yardmaster-system:yardmaster-agent", "yardmaster.dev/reports");
  }

  json answer_ = Answer();
};

TEST_F(NodeOfReviewTest, IsTheNodeThatTheTokenIsBoundTo) { EXPECT_EQ(*Read(), "n1"); }

TEST_F(NodeOfReviewTest, IsNoneForAnyOtherToken) {
  answer_["status"]["authenticated"] = false;
  EXPECT_THAT(Why(), HasSubstr("does not know"));
  answer_ = json::object();
  EXPECT_THAT(Why(), HasSubstr("does not know"));
  answer_ = Answer();
  answer_["status"]["audiences"] = {"https://kubernetes.default.svc"};
  EXPECT_THAT(Why(), HasSubstr("is not for"));
  answer_ = Answer();
  answer_["status"]["user"]["username"] = "system:serviceaccount:team:default";
  EXPECT_THAT(Why(), HasSubstr("not of yardmaster-system:yardmaster-agent"));
  for (const json& extra : {json(), json::object(), json({{"x", {"n1"}}}),
                            json({{"authentication.kubernetes.io/node-name", "n1"}}),
                            json({{"authentication.kubernetes.io/node-name", {""}}})}) {
    answer_ = Answer();
    answer_["status"]["user"]["extra"] = extra;
    EXPECT_THAT(Why(), HasSubstr("bound to no node")) << extra;
  }
}

}  // namespace
}  // namespace yardmaster::op
