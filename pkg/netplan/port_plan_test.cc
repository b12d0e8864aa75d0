#include "pkg/netplan/port_plan.h"

#include <algorithm>
#include <cstdint>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "pkg/base/random.h"
#include "pkg/fabric/testing/fabrics.h"
#include "pkg/plan/testing/snapshots.h"
#include "pkg/repac/testing/plan_checker.h"

namespace yardmaster::netplan {
namespace {

using ::testing::IsEmpty;

using fabric::HostId;
using fabric::LinkId;
using fabric::LinkPath;
using fabric::Network;

// Two rings over both segments of a fabric with known hashes. Hosts 0 and 1 share their ToRs.
class PortPlanTest : public ::testing::Test {
 protected:
  PortPlanTest() : snapshot_(plan::MakeSnapshot(Spec())) {
    unusable_.assign(static_cast<std::size_t>(network().num_cables()), 0);
    flows_ = std::make_unique<FlowProblem>(network(), unusable_, 128);
    AddRing("a", {0, 1, 5});
    AddRing("b", {2, 6});
    Choose(1);
  }

  static fabric::FabricSpec Spec() {
    fabric::FabricSpec spec = fabric::SmallHpn(1, 2, 4);
    fabric::HashSpec hash;
    hash.kind = fabric::HashKind::kCrc;
    spec.ecmp_hash["tor"] = hash;
    hash.seed = 7;
    spec.ecmp_hash["agg"] = hash;
    return spec;
  }
  void AddRing(const std::string& name, const std::vector<int>& hosts) {
    plan::AddJob(snapshot_, name, static_cast<int>(hosts.size()));
    std::vector<HostId> of_rank;
    for (const int host : hosts) of_rank.emplace_back(host);
    plan::Place(snapshot_, plan::LastJob(snapshot_), of_rank);
    flows_->AddJob(plan::LastJob(snapshot_), snapshot_.jobs.back().job, of_rank);
  }
  // Any uplink for every flow; nothing is kept.
  void Choose(std::uint64_t seed) {
    Random random(seed);
    solution_.jobs.clear();
    for (const JobFlows& job : jobs()) {
      std::vector<std::int32_t>& paths = solution_.jobs.emplace_back().paths;
      for (const FlowSource& flow : job.flows) {
        const auto count = static_cast<std::uint64_t>(flow.candidates);
        paths.push_back(static_cast<std::int32_t>(random.Below(count)));
      }
    }
  }

  const Network& network() const { return *snapshot_.network; }
  const std::vector<JobFlows>& jobs() const { return flows_->jobs(); }
  // From what holds in `previous_network_`.
  NetworkPlan Run() {
    PortPlan ports(snapshot_, input_, unusable_);
    EXPECT_TRUE(ports.status().ok()) << ports.status();
    kept_.jobs.clear();
    for (const JobFlows& job : jobs()) {
      const auto at = previous_network_.find(snapshot_.jobs[job.job.index()].job.key);
      const PreviousJob* previous = at == previous_network_.end() ? nullptr : &at->second;
      std::vector<std::int32_t> kept = ports.Add(job, previous);
      std::vector<std::int32_t>& paths = kept_.jobs.emplace_back().paths;
      if (previous != nullptr) paths = std::move(kept);
    }
    NetworkPlan plan;
    ports.Run(jobs(), kept_, solution_, plan);
    return plan;
  }
  // What a flow keeps of a path.
  struct Reusable : repac::FlowPath {
    std::int32_t candidate = -1;
  };
  Reusable ReusablePath(const FlowSource& flow, const repac::FlowPath& previous) const {
    Reusable kept;
    kept.candidate = PortPlan(snapshot_, input_, unusable_).Keep(flow, previous, kept);
    return kept;
  }
  // The flow of job a from host 0 to host 1, and one that crosses segments; rail 0, port 0.
  std::size_t IndexOf(int from, int to) const {
    const std::vector<FlowSource>& flows = jobs()[0].flows;
    const FlowKey key{HostId(from), 0, 0, HostId(to), 0};
    const auto at = std::find_if(flows.begin(), flows.end(),
                                 [&](const FlowSource& flow) { return flow.key() == key; });
    EXPECT_NE(at, flows.end());
    return static_cast<std::size_t>(at - flows.begin());
  }
  void SetUnusable(LinkId link, bool out = true) {
    unusable_[Network::cable_of(link).index()] = out ? 1 : 0;
  }

  plan::Snapshot snapshot_;
  std::vector<std::uint8_t> unusable_;
  std::unique_ptr<FlowProblem> flows_;
  NetworkInput input_;
  crux::Solution solution_;
  PreviousNetwork previous_network_;
  crux::Solution kept_;  // as Run was given it
};

TEST_F(PortPlanTest, PortsTakeEveryFlowAlongTheUplinkChosen) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    Choose(seed);
    const NetworkPlan plan = Run();
    std::size_t at = 0;
    for (std::size_t j = 0; j < jobs().size(); ++j) {
      for (std::size_t f = 0; f < jobs()[j].flows.size(); ++f) {
        const FlowSource& flow = jobs()[j].flows[f];
        ASSERT_LT(at, plan.paths.size());
        const PathAssignment& path = plan.paths[at++];
        EXPECT_EQ(path.job, jobs()[j].job);
        EXPECT_EQ(path.key, flow.key());
        ASSERT_NE(path.source_port, 0) << path.reason;
        EXPECT_EQ(flow.CandidateOf(path.links), solution_.jobs[j].paths[f]);
        EXPECT_EQ(path.links, repac::Route(network(), flow.from, flow.to, path.source_port, {}));
        EXPECT_THAT(path.wanted_links, IsEmpty());
      }
    }
    EXPECT_EQ(at, plan.paths.size());
    EXPECT_EQ(plan.report.new_flows, static_cast<int>(at));
    EXPECT_EQ(plan.report.unplanned_flows, 0);
  }
}

TEST_F(PortPlanTest, NoPortIsUsedTwiceBetweenTwoNicsAnswersIncluded) {
  const NetworkPlan plan = Run();
  using Nics = std::pair<repac::Nic, repac::Nic>;
  std::map<Nics, std::set<std::uint16_t>> used;
  for (const auto* paths : {&plan.paths, &plan.ack_paths}) {
    for (const PathAssignment& path : *paths) {
      Nics nics = {{path.src.host, path.src.rail}, {path.dst.host, path.dst.rail}};
      if (nics.second < nics.first) std::swap(nics.first, nics.second);
      for (const std::uint16_t port : {path.source_port, path.alternate_port}) {
        if (port != 0) {
          EXPECT_TRUE(used[nics].insert(port).second);
        }
      }
    }
  }
  EXPECT_EQ(plan.ack_paths.size(), jobs()[0].ack_paths.size()) << "of job a; b sends both ways";
}

TEST_F(PortPlanTest, AnAcknowledgementPathHasItsPartOfTheBytes) {
  const NetworkPlan plan = Run();
  for (const PathAssignment& ack : plan.ack_paths) {
    EXPECT_NE(ack.source_port, 0) << ack.reason;
    EXPECT_EQ(ack.bytes, 0) << "Crux counts no load for it";
    EXPECT_EQ(ack.links, repac::Route(network(), ack.src, ack.dst, ack.source_port, {}));
  }
}

TEST_F(PortPlanTest, FlowsThatKeepTheirPathsKeepTheirPorts) {
  const NetworkPlan first = Run();
  for (const PathAssignment& path : first.paths) {
    previous_network_[snapshot_.jobs[path.job.index()].job.key].flows[path.key] = path;
  }
  // One flow is to take another uplink.
  const std::size_t moved = IndexOf(1, 5);
  const crux::Solution same = solution_;
  solution_.jobs[0].paths[moved] = (solution_.jobs[0].paths[moved] + 1) % 4;
  const NetworkPlan second = Run();
  for (std::size_t j = 0; j < jobs().size(); ++j) {
    EXPECT_EQ(kept_.jobs[j].paths, same.jobs[j].paths);
  }
  ASSERT_EQ(second.paths.size(), first.paths.size());
  for (std::size_t p = 0; p < first.paths.size(); ++p) {
    if (p == moved) {
      EXPECT_NE(second.paths[p].links, first.paths[p].links);
      continue;
    }
    EXPECT_EQ(second.paths[p].source_port, first.paths[p].source_port);
    EXPECT_EQ(second.paths[p].links, first.paths[p].links);
  }
  EXPECT_EQ(second.report.kept_flows, static_cast<int>(first.paths.size()) - 1);
  EXPECT_EQ(second.report.changed_flows, 1);
  EXPECT_EQ(second.report.new_flows, 0);
}

TEST_F(PortPlanTest, AnExcludedNicHasNoPortsAndTheReasonAndPathAreSaid) {
  input_.exclude = {{HostId(5), 0}};
  for (const PathAssignment& path : Run().paths) {
    const bool out =
        path.src.rail == 0 && (path.src.host == HostId(5) || path.dst.host == HostId(5));
    EXPECT_EQ(path.source_port == 0, out);
    EXPECT_EQ(path.reason.empty(), !out);
    if (out) {
      EXPECT_EQ(path.wanted_links.size(), 4u);
    }
  }
}

TEST_F(PortPlanTest, AnOverrideOfNoSwitchIsAnErrorAndNoPorts) {
  fabric::FabricSpec spec = Spec();
  spec.ecmp_hash_overrides["no-such-switch"] = spec.ecmp_hash["tor"];
  snapshot_.network =
      std::make_shared<const Network>(Network::Build(spec, snapshot_.places).value());
  EXPECT_FALSE(PortPlan(snapshot_, input_, unusable_).status().ok());
}

// What the flow from host 1 to host 5 keeps of a path by an uplink.
class KeepTest : public PortPlanTest {
 protected:
  KeepTest() : plan_(Run()), flow_(jobs()[0].flows[IndexOf(1, 5)]) {
    previous_ = plan_.paths[IndexOf(1, 5)];
    alternate_links_ = repac::Route(network(), flow_.from, flow_.to, previous_.alternate_port, {});
  }
  Reusable Kept() const { return ReusablePath(flow_, previous_); }

  const NetworkPlan plan_;
  const FlowSource flow_;
  repac::FlowPath previous_;
  LinkPath alternate_links_;
};

TEST_F(KeepTest, APathWhoseLinksAreUpIsKept) {
  const Reusable kept = Kept();
  EXPECT_EQ(kept.source_port, previous_.source_port);
  EXPECT_EQ(kept.alternate_port, previous_.alternate_port);
  EXPECT_EQ(kept.links, previous_.links);
  EXPECT_EQ(flow_.route(kept.candidate).front(), previous_.links[1]);
}

TEST_F(KeepTest, APortOfUnknownLinksIsKeptOnThoseThatItLeadsOver) {
  const LinkPath links = std::exchange(previous_.links, {});
  EXPECT_EQ(Kept().source_port, previous_.source_port);
  EXPECT_EQ(Kept().links, links);
}

TEST_F(KeepTest, WhereALinkIsLostTheAlternatePortTakesOver) {
  ASSERT_NE(previous_.alternate_port, 0);
  SetUnusable(previous_.links[1]);
  const Reusable kept = Kept();
  EXPECT_EQ(kept.source_port, previous_.alternate_port);
  EXPECT_EQ(kept.alternate_port, 0);
  EXPECT_EQ(kept.links, alternate_links_);
  EXPECT_EQ(flow_.route(kept.candidate).front(), alternate_links_[1]);
}

TEST_F(KeepTest, WhereTheAlternatePathIsLostTooNothingIsKept) {
  SetUnusable(previous_.links[1]);
  SetUnusable(alternate_links_[1]);
  EXPECT_EQ(Kept().candidate, -1);
  EXPECT_FALSE(Kept().planned());
}

TEST_F(KeepTest, AFlowGoesHomeOnceAllLinksOfItsHomeAreUp) {
  repac::FlowPath away;
  away.source_port = previous_.alternate_port;
  away.links = alternate_links_;
  away.home_port = previous_.source_port;
  away.home_links = previous_.links;
  SetUnusable(previous_.links[2]);
  EXPECT_EQ(ReusablePath(flow_, away).source_port, previous_.alternate_port);
  SetUnusable(previous_.links[2], false);
  EXPECT_EQ(ReusablePath(flow_, away).source_port, previous_.source_port);
  EXPECT_EQ(ReusablePath(flow_, away).links, previous_.links);
}

TEST_F(KeepTest, OfNothingNothingIsKeptUnlessThereIsOnePathOnly) {
  EXPECT_EQ(ReusablePath(flow_, {}).candidate, -1);
  const Reusable near = ReusablePath(jobs()[0].flows[IndexOf(0, 1)], {});
  EXPECT_EQ(near.candidate, 0);
  EXPECT_FALSE(near.planned());
}

}  // namespace
}  // namespace yardmaster::netplan
