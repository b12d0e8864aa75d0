// The loss of a whole domain, as with the power of a rack: told from hosts that fail by themselves
// and from the loss of its segment, bounded, and one incident a job.
#include "gtest/gtest.h"

#include "pkg/operator/hosts/node_observer.h"
#include "pkg/operator/hosts/segment_loss.h"
#include "pkg/operator/network/fabric_status.h"
#include "pkg/operator/testing/job_fixture.h"

namespace yardmaster::op {
namespace {

using nlohmann::json;
using Report = HostHealth::Report;

std::set<std::string> NamesOfLost(const std::vector<SegmentVerdict>& verdicts) {
  std::set<std::string> lost;
  for (const SegmentVerdict& verdict : verdicts) {
    if (verdict.state == SegmentState::kLost) lost.insert(verdict.name);
  }
  return lost;
}

// Eight segments of four domains of six hosts: p/s0/d0, p/s0/d1, ...
class DomainHealthTest : public ::testing::Test {
 protected:
  static constexpr int kSegments = 8, kDomains = 4, kHosts = 6;
  explicit DomainHealthTest(const HostLossLimits& limits = {}) : health_(limits) {
    for (int s = 0; s < kSegments; ++s) {
      for (int d = 0; d < kDomains; ++d) Set(s, d, kHosts, Report::kReady, 0);
    }
  }
  static std::string Name(int segment, int domain, int host) {
    return StrCat("s", segment, "d", domain, "h", host);
  }
  void Set(int segment, int domain, int hosts, Report report, std::int64_t now_ms) {
    for (int h = 0; h < hosts; ++h) {
      health_.Observe(Name(segment, domain, h), StrCat("p/s", segment), report, now_ms, false,
                      StrCat("p/s", segment, "/d", domain));
    }
  }
  // As the operator's rounds do: what is lost stands in the Fabric's status.
  int CountLost(std::int64_t now_ms) {
    const auto segments = health_.AssessSegments(now_ms);
    domains_ = health_.AssessDomains(now_ms);
    health_.SetLostInStatus(NamesOfLost(segments), NamesOfLost(domains_));
    int lost = 0;
    for (int s = 0; s < kSegments; ++s) {
      for (int d = 0; d < kDomains; ++d) {
        for (int h = 0; h < kHosts; ++h) {
          lost += Assess(s, d, h, now_ms).state == HostHealthState::kLost ? 1 : 0;
        }
      }
    }
    return lost;
  }
  HostVerdict Assess(int segment, int domain, int host, std::int64_t now_ms) {
    return health_.Assess(Name(segment, domain, host), 30'000, now_ms);
  }

  HostHealth health_;
  std::vector<SegmentVerdict> domains_;
};

TEST_F(DomainHealthTest, ADomainIsLostTogetherWithItsReadyHosts) {
  Set(3, 1, 5, Report::kNotReady, 0);
  EXPECT_EQ(CountLost(59'000), 0) << "none alone before the domain's time";
  EXPECT_EQ(CountLost(60'000), 6);
  ASSERT_EQ(domains_.size(), 1U);
  EXPECT_EQ(domains_[0].name, "p/s3/d1");
  EXPECT_TRUE(health_.AssessSegments(60'000).empty());
  const HostVerdict gone = Assess(3, 1, 0, 60'000);
  EXPECT_EQ(gone.domain, "p/s3/d1");
  EXPECT_EQ(gone.segment, "");
  EXPECT_FALSE(gone.reachable());
  const HostVerdict ready = Assess(3, 1, 5, 60'000);
  EXPECT_EQ(ready.domain, "p/s3/d1");
  EXPECT_TRUE(ready.reachable()) << "its kubelet ends the pods";
  EXPECT_EQ(health_.HostsOfLostPlaces().size(), 6U);
}

TEST_F(DomainHealthTest, FewHostsOfADomainAreReplacedOneByOne) {
  Set(3, 1, 2, Report::kNotReady, 0);
  EXPECT_EQ(CountLost(60'000), 2);
  EXPECT_TRUE(domains_.empty());
  EXPECT_EQ(Assess(3, 1, 0, 60'000).domain, "");
}

TEST_F(DomainHealthTest, NoHostIsLostBeforeTheStatusOfTheFabricSaysSo) {
  Set(3, 1, 6, Report::kNotReady, 0);
  EXPECT_EQ(health_.AssessDomains(600'000)[0].state, SegmentState::kLost);
  EXPECT_EQ(Assess(3, 1, 0, 600'000).state, HostHealthState::kNotReady);
  EXPECT_GT(Assess(3, 1, 0, 600'000).again_ms, 0);
  health_.SetLostInStatus({}, {"p/s3/d1"});
  EXPECT_EQ(Assess(3, 1, 0, 600'000).state, HostHealthState::kLost);
}

TEST_F(DomainHealthTest, WhereTheSegmentIsLostItsDomainsAreNot) {
  for (int d = 0; d < kDomains; ++d) Set(3, d, 6, Report::kNotReady, 0);
  EXPECT_EQ(CountLost(60'000), 24);
  EXPECT_TRUE(domains_.empty());
  EXPECT_EQ(Assess(3, 1, 0, 60'000).segment, "p/s3");
  EXPECT_EQ(Assess(3, 1, 0, 60'000).domain, "");
}

TEST_F(DomainHealthTest, NoMoreDomainsThanTheLimitAreLeftAtATime) {
  for (int s = 0; s < 3; ++s) Set(s, 0, 6, Report::kNotReady, 0);
  EXPECT_EQ(CountLost(60'000), 12);
  const HostVerdict held = Assess(2, 0, 0, 60'000);
  EXPECT_EQ(held.state, HostHealthState::kHeld);
  EXPECT_EQ(held.domain, "p/s2/d0");
  EXPECT_EQ(held.reason,
            "domain p/s2/d0 looks lost: no more than 2 lost domains may be left at a time");
  Set(0, 0, 6, Report::kReady, 70'000);
  EXPECT_EQ(CountLost(70'000), 12) << "the third takes the place of the one that is back";
}

class ManyDomainsTest : public DomainHealthTest {
 protected:
  static HostLossLimits Limits() {
    HostLossLimits limits;
    limits.loss.domain_share = 0.1;
    return limits;
  }
  ManyDomainsTest() : DomainHealthTest(Limits()) {}
};

TEST_F(ManyDomainsTest, AShareOfManyDomainsMayBeLeft) {
  for (int s = 0; s < 4; ++s) Set(s, 0, 6, Report::kNotReady, 0);
  EXPECT_EQ(CountLost(60'000), 18) << "a tenth of 32 domains is 3";
}

TEST_F(DomainHealthTest, NothingIsLostWhileTheWholeFabricIs) {
  for (int s = 0; s < kSegments; ++s) {
    for (int d = 0; d < kDomains; ++d) Set(s, d, 6, Report::kNotReady, 0);
  }
  EXPECT_EQ(CountLost(600'000), 0);
}

TEST_F(DomainHealthTest, AHostThatLeavesItsDomainIsNotLostWithIt) {
  health_.Observe(Name(3, 1, 5), "p/s3", Report::kReady, 0);
  Set(3, 1, 5, Report::kNotReady, 0);
  EXPECT_EQ(CountLost(60'000), 5);
  EXPECT_EQ(Assess(3, 1, 5, 60'000).state, HostHealthState::kHealthy);
}

TEST(DomainsUpTest, TheFabricNamesTheDomainUntilItIsBack) {
  api::FabricStatus status;
  AddLostDomains({{"p0/s3/d1", SegmentState::kLost, 4'000}}, 1, 10'000, 1'000'000, status);
  ASSERT_EQ(status.lost_domains.size(), 1U);
  EXPECT_EQ(status.lost_domains[0], (api::LostDomain{"p0", "s3", "d1", 994'000}));
  const api::Condition* up = api::FindCondition(status.conditions, kDomainsUpCondition);
  ASSERT_NE(up, nullptr);
  EXPECT_EQ(up->reason, "DomainLost");
  EXPECT_NE(up->message.find("domain p0/s3/d1"), std::string::npos) << up->message;
  AddLostDomains({{"p0/s3/d1", SegmentState::kSuspected, 20'000, 1}}, 1, 21'000, 1'011'000, status);
  EXPECT_EQ(status.lost_domains.size(), 1U) << "a new leader has not seen it for long enough";
  AddLostDomains({}, 1, 0, 1'100'000, status);
  EXPECT_TRUE(status.lost_domains.empty());
  EXPECT_TRUE(api::IsTrue(status.conditions, kDomainsUpCondition));
}

TEST(DomainOfNodeTest, TheFirstLabelOfTheFabricThatTheNodeHasNamesIt) {
  state::ClusterCache cache;
  cache.Deliver(state::Kind::kFabric, json::parse(R"({
      "apiVersion": "yardmaster.dev/v1alpha1", "kind": "Fabric", "metadata": {"name": "f"},
      "spec": {"tiers": [], "scaleUp": {"label": "x/rack", "moreLabels": ["x/row"]}}})"));
  api::Node node;
  node.metadata.labels = {{api::kFabricPodLabel, "p"}, {api::kSegmentLabel, "s"}, {"x/row", "r"}};
  EXPECT_EQ(DomainOf(node, cache.Take()), "p/s/r");
  node.metadata.labels["x/rack"] = "k";
  EXPECT_EQ(DomainOf(node, cache.Take()), "p/s/k");
  node.metadata.labels.erase("x/rack");
  node.metadata.labels.erase("x/row");
  EXPECT_EQ(DomainOf(node, cache.Take()), "");
}

// Six workers on hosts n0 to n5 of 16: n0 to n3 are domain d0, n4 to n7 domain d1, ...
class JobInLostDomainTest : public JobFixture {
 protected:
  void Start(const json& recovery) {
    SeedJob(6, 16, {{"recovery", recovery}});
    for (int i = 0; i < 16; ++i) {
      json node = *client_.Find(kube::Nodes(), "", StrCat("n", i));
      node["metadata"]["labels"][api::kSegmentLabel] = "s0";
      node["metadata"]["labels"]["yardmaster.dev/domain"] = StrCat("d", i / 4);
      client_.Seed(kube::Nodes(), node);
    }
    cache_->Deliver(state::Kind::kFabric,
                    json::parse(R"({"apiVersion": "yardmaster.dev/v1alpha1", "kind": "Fabric",
                                    "metadata": {"name": "f"}, "spec": {"tiers": []}})"));
    RunAll();
  }
  void RunUntilStable() {
    Sync();
    const std::int64_t now_ms = clock_.SteadyMs();
    const auto segments = NamesOfLost(hosts_->AssessSegments(now_ms));
    hosts_->SetLostInStatus(segments, NamesOfLost(hosts_->AssessDomains(now_ms)));
    JobFixture::RunUntilStable();
  }
};

TEST_F(JobInLostDomainTest, TheLossOfADomainIsOneIncidentAndOneEvent) {
  Start({{"onHostLoss", "Replace"}});
  const auto before = Uids();
  for (int i = 0; i < 3; ++i) SetNode(StrCat("n", i), false);
  RunUntilStable();
  clock_.Advance(60'000);
  RunUntilStable();
  int kept = 0;
  for (const auto& [rank, uid] : before) kept += Uid(rank) == uid ? 1 : 0;
  EXPECT_EQ(kept, 2) << "the four ranks of the domain move, that on the Ready host, too";
  const json incidents = Status()["recovery"]["incidents"];
  ASSERT_EQ(incidents.size(), 1U) << incidents.dump(1);
  EXPECT_EQ(incidents[0]["cause"], "DomainLost");
  EXPECT_EQ(incidents[0]["domain"], "p0/s0/d0");
  EXPECT_EQ(incidents[0]["ranks"], json::array({0, 1, 2, 3}));
  EXPECT_EQ(Reason("Recovering"), "DomainLost");
  EXPECT_EQ(Reason("Degraded"), "DomainLost");
  EXPECT_NE(Message("Degraded").find("domain p0/s0/d0 is lost"), std::string::npos)
      << Message("Degraded");
  EXPECT_EQ(CountNotices("Recovering"), 1);
}

TEST_F(JobInLostDomainTest, AJobThatIsToFailWithItsHostsFailsWithItsDomain) {
  Start({{"onHostLoss", "Fail"}});
  for (int i = 0; i < 4; ++i) SetNode(StrCat("n", i), false);
  RunUntilStable();
  clock_.Advance(60'000);
  RunUntilStable();
  EXPECT_EQ(Reason("Failed"), "DomainLost");
}

}  // namespace
}  // namespace yardmaster::op
