#include "pkg/placement/reasons/explain.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>

#include "pkg/base/strings.h"
#include "pkg/base/testing/rounds.h"
#include "pkg/placement/reasons/resource_shortages.h"
#include "pkg/placement/testing/cases.h"
#include "pkg/placement/testing/exhaustive.h"

namespace yardmaster::placement {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using workload::Enforcement;
using workload::TopologyLevel;

bool Has(const GangPlan& plan, ReasonCode code, TopologyLevel level, std::int64_t count) {
  for (const Reason& r : plan.reasons) {
    if (r.code == code && r.level == level && r.count == count) return true;
  }
  return false;
}

TEST(ExplainTest, AGangLargerThanTheFabricNeverFits) {
  const Case c = MakeCase(MakeCluster({{4, 4}}), MakeJob(8, 1, 1, 10, 1));
  const GangPlan plan = PlanGang(c.cluster, c.request());
  EXPECT_EQ(plan.outcome, Outcome::kNever);
  EXPECT_TRUE(Has(plan, ReasonCode::kNotEnoughHosts, TopologyLevel::kFabric, 2));
  EXPECT_THAT(plan.reasons[0].message, HasSubstr("2 hosts short"));
  EXPECT_THAT(plan.relaxations,
              Contains(Relaxation{"hosts: 2 more in segment p0s10", Outcome::kPlaced}));
}

TEST(ExplainTest, WhatTheFabricLacksIsNotSaidAgainOfItsOnlyFabricPod) {
  const auto shortages = [](const std::vector<std::vector<int>>& fabric) {
    const Case c = MakeCase(MakeCluster(fabric), MakeJob(8, 1, 1, 20, 1));
    std::vector<std::string> said;
    for (const Reason& reason : PlanGang(c.cluster, c.request()).reasons) {
      if (reason.message.find(" short in ") != std::string::npos) said.push_back(reason.message);
    }
    return said;
  };
  EXPECT_THAT(shortages({{4, 4}}), ElementsAre(StartsWith("12 hosts short in the fabric: ")));
  EXPECT_THAT(shortages({{4, 4}, {4}}), ElementsAre(StartsWith("8 hosts short in the fabric: "),
                                                    StartsWith("12 hosts short in fabric pod p")));
}

TEST(ExplainTest, AClusterWithoutHostsIsSaidToHaveNone) {
  for (const bool counts_gpus : {true, false}) {
    Case c = MakeCase(MakeCluster({}), MakeJob(2, 1, 1, 1, 1, 1));
    c.job.counts_gpus = counts_gpus;
    const GangPlan plan = PlanGang(c.cluster, c.request());
    EXPECT_EQ(plan.outcome, Outcome::kNever);
    ASSERT_EQ(plan.reasons.size(), 1u);
    EXPECT_THAT(plan.reasons[0].message, StartsWith("there are no hosts"));
  }
}

TEST(ExplainTest, PreferredDataWouldHelpAGroupLargerThanASegment) {
  Case c = MakeCase(MakeCluster({{4, 4}}), MakeJob(8, 1, 1, 6, 1));
  c.job.placement.data = {TopologyLevel::kSegment, Enforcement::kRequired};
  const GangPlan plan = PlanGang(c.cluster, c.request());
  EXPECT_EQ(plan.outcome, Outcome::kNever);
  EXPECT_TRUE(Has(plan, ReasonCode::kGroupTooLarge, TopologyLevel::kSegment, 2));
  EXPECT_THAT(plan.reasons[0].message, HasSubstr("2 hosts short in segment p0s10: a data group"));
  // Tensor, context and expert groups lie inside a worker, so their limits are not to blame.
  EXPECT_THAT(plan.relaxations,
              ElementsAre(Relaxation{"placement: {data: {within: FabricPod}}", Outcome::kPlaced},
                          Relaxation{"placement: {data: {mode: Preferred}}", Outcome::kPlaced},
                          Relaxation{"hosts: 2 more in segment p0s10", Outcome::kPlaced}));
}

TEST(ExplainTest, AChangeThatOnlyMakesTheJobPossibleSaysWhatElseItTakes) {
  Case c = MakeCase(MakeCluster({{4, 4}}), MakeJob(8, 1, 1, 6, 1));
  c.job.placement.data = {TopologyLevel::kSegment, Enforcement::kRequired};
  for (int host : {0, 1, 5}) c.cluster.hosts[static_cast<std::size_t>(host)].free_gpus = 0;
  const GangPlan plan = PlanGang(c.cluster, c.request());
  EXPECT_EQ(plan.outcome, Outcome::kNever);
  EXPECT_THAT(
      plan.relaxations,
      ElementsAre(
          Relaxation{"placement: {data: {within: FabricPod}}", Outcome::kNotNow},
          Relaxation{"placement: {data: {mode: Preferred}}", Outcome::kNotNow},
          Relaxation{
              "placement: {data: {within: FabricPod}}; wait: until hosts are free, back in service "
              "or no longer reserved",
              Outcome::kPlaced},
          Relaxation{"placement: {data: {within: FabricPod}}; hosts: 1 more in segment p0s11",
                     Outcome::kPlaced},
          Relaxation{"hosts: 2 more in segment p0s10", Outcome::kNotNow}));
}

TEST(ExplainTest, LimitsThatDoNotBindAreNotOffered) {
  // Tensor groups of two hosts and a data limit: only the data limit is in the way.
  Case c = MakeCase(MakeCluster({{4, 4, 4}}), MakeJob(16, 1, 1, 5, 1));
  c.job.placement.data = {TopologyLevel::kSegment, Enforcement::kRequired};
  GangPlan plan = PlanGang(c.cluster, c.request());
  EXPECT_THAT(plan.relaxations,
              Contains(Field(&Relaxation::change, "placement: {data: {mode: Preferred}}")));
  EXPECT_THAT(plan.relaxations, Not(Contains(Field(&Relaxation::change, HasSubstr("tensor:")))));
  // Three hosts free in a segment hold one tensor group: now both limits are in the way together.
  c.cluster.hosts[4].free_gpus = c.cluster.hosts[8].free_gpus = 0;
  plan = PlanGang(c.cluster, c.request());
  EXPECT_THAT(
      plan.relaxations,
      Contains(Relaxation{"placement: {data: {within: FabricPod}, tensor: {within: FabricPod}}",
                          Outcome::kPlaced}));
}

TEST(ExplainTest, FewHostsAreNotBlamedOnLimits) {
  Case c = MakeCase(MakeCluster({{4, 4}}), MakeJob(8, 1, 1, 4, 2));
  c.job.placement.data = {TopologyLevel::kSegment, Enforcement::kRequired};
  c.cluster.hosts[0].free_gpus = 0;
  EXPECT_THAT(PlanGang(c.cluster, c.request()).relaxations,
              ElementsAre(Field(&Relaxation::change, StartsWith("wait:"))));
}

TEST(ExplainTest, OccupiedHostsAreWaitedFor) {
  Case c = MakeCase(MakeCluster({{4, 4}}), MakeJob(8, 1, 1, 4, 2));
  c.cluster.hosts[0].free_gpus = 0;
  c.cluster.hosts[5].unavailable = Unavailability::kNotReady;
  const GangPlan plan = PlanGang(c.cluster, c.request());
  EXPECT_EQ(plan.outcome, Outcome::kNotNow);
  EXPECT_TRUE(Has(plan, ReasonCode::kNotEnoughHosts, TopologyLevel::kFabric, 2));
  EXPECT_TRUE(Has(plan, ReasonCode::kHostsOccupied, TopologyLevel::kFabric, 1));
  EXPECT_TRUE(Has(plan, ReasonCode::kHostsOut, TopologyLevel::kFabric, 1));
  EXPECT_EQ(plan.relaxations.back().outcome, Outcome::kPlaced);
}

// Four hosts with this much cpu allocatable and free, and workers that ask for 96.
Case WithCpu(std::vector<std::int64_t> allocatable, std::vector<std::int64_t> free) {
  Case c = MakeCase(MakeCluster({{4}}), MakeJob(8, 1, 1, 4, 1));
  c.job.requests = {{"cpu", 96'000}};
  HostResources& resources = c.cluster.resources;
  resources.names = std::make_shared<const std::vector<std::string>>(1, "cpu");
  resources.allocatable = std::make_shared<const std::vector<std::int64_t>>(allocatable);
  resources.free = std::move(free);
  return c;
}

TEST(ExplainTest, HostsShortOfAResourceNameIt) {
  const Case c = WithCpu({100'000, 100'000, 100'000, 100'000}, {100'000, 88'000, 87'500, 20'000});
  const GangPlan plan = PlanGang(c.cluster, c.request());
  EXPECT_EQ(plan.outcome, Outcome::kNotNow);
  EXPECT_TRUE(Has(plan, ReasonCode::kInsufficientResources, TopologyLevel::kFabric, 3));
  EXPECT_THAT(Sentence(plan), HasSubstr("3 hosts short of cpu: 96 requested, 88 free"));
}

TEST(ExplainTest, WorkersThatAskForMoreThanHostsHaveNeverFit) {
  const Case c = WithCpu({100'000, 100'000, 88'000, 95'500}, {100'000, 100'000, 88'000, 95'500});
  const GangPlan plan = PlanGang(c.cluster, c.request());
  EXPECT_EQ(plan.outcome, Outcome::kNever);
  EXPECT_THAT(Sentence(plan), HasSubstr("2 hosts short of cpu: 96 requested, 95500m in all"));
}

TEST(ExplainTest, AmountsReadAsPeopleWriteThem) {
  EXPECT_EQ(FormatAmount("memory", 1536LL << 20), "1536Mi");
  EXPECT_EQ(FormatAmount("memory", 2LL << 40), "2048Gi");
  EXPECT_EQ(FormatAmount("hugepages-1Gi", 0), "0");
  EXPECT_EQ(FormatAmount("rdma/hca", 1024), "1024");
}

TEST(ExplainTest, BackupAndExcludedHostsAreCounted) {
  Case c = MakeCase(MakeCluster({{4}}), MakeJob(8, 1, 1, 4, 1));
  c.cluster.hosts[3].backup = true;
  const GangPlan plan = PlanGang(c.cluster, c.request());
  EXPECT_EQ(plan.outcome, Outcome::kNever);
  EXPECT_TRUE(Has(plan, ReasonCode::kHostsKeptAsBackup, TopologyLevel::kFabric, 1));
  EXPECT_THAT(plan.relaxations, Contains(Relaxation{"backup hosts: used", Outcome::kPlaced}));

  c.cluster.hosts[3].backup = false;
  const std::vector<std::uint8_t> eligible = {1, 0, 1, 1};
  GangRequest request = c.request();
  request.eligible = &eligible;
  EXPECT_TRUE(
      Has(PlanGang(c.cluster, request), ReasonCode::kHostsExcluded, TopologyLevel::kFabric, 1));
}

TEST(ExplainTest, AWorkerLargerThanAHostNeverFits) {
  const Case c = MakeCase(MakeCluster({{4}}), MakeJob(16, 1, 1, 1, 1, 16));
  const GangPlan plan = PlanGang(c.cluster, c.request());
  EXPECT_EQ(plan.outcome, Outcome::kNever);
  EXPECT_TRUE(Has(plan, ReasonCode::kGroupTooLarge, TopologyLevel::kHost, 8));
}

TEST(ExplainTest, AGroupLargerThanAHostSaysSoAndWhatHelps) {
  // Two stages on workers of a whole host each, Required within one host.
  Case c = MakeCase(MakeCluster({{4}}), MakeJob(8, 1, 1, 1, 2));
  c.job.placement.pipeline = {TopologyLevel::kHost, Enforcement::kRequired};
  const GangPlan plan = PlanGang(c.cluster, c.request());
  EXPECT_EQ(plan.outcome, Outcome::kNever);
  EXPECT_TRUE(Has(plan, ReasonCode::kGroupTooLarge, TopologyLevel::kHost, 8));
  EXPECT_THAT(
      plan.relaxations,
      ElementsAre(Relaxation{"placement: {pipeline: {within: Segment}}", Outcome::kPlaced},
                  Relaxation{"placement: {pipeline: {mode: Preferred}}", Outcome::kPlaced}));
}

TEST(ExplainTest, LimitsInsideHostsAreLoosenedWhereSingleGpusAreFree) {
  // A tensor group of two 4-GPU workers; every host has room for one of them.
  Case c = MakeCase(MakeCluster({{2, 2}}), MakeJob(8, 1, 1, 1, 1, 4));
  c.job.placement.tensor = {TopologyLevel::kHost, Enforcement::kRequired};
  for (HostState& host : c.cluster.hosts) host.free_gpus = 4;
  const GangPlan plan = PlanGang(c.cluster, c.request());
  EXPECT_EQ(plan.outcome, Outcome::kNotNow);
  EXPECT_THAT(plan.relaxations,
              Contains(Relaxation{"placement: {tensor: {within: Segment}}", Outcome::kPlaced}));
}

TEST(ExplainTest, NeverMeansThatNoEmptyHealthyFabricWouldDo) {
  Random random(21);
  int never = 0, not_now = 0;
  for (int round = 0; round < Rounds(1500); ++round) {
    Case c = RandomCase(random, {6, 4});
    const GangPlan plan = PlanGang(c.cluster, c.request());
    if (plan.outcome == Outcome::kPlaced) continue;
    ASSERT_FALSE(plan.reasons.empty());
    Case empty = c;
    for (HostState& host : empty.cluster.hosts) {
      host.free_gpus = host.gpus;
      host.unavailable = Unavailability::kNo;
      host.reserved_for = -1;
    }
    const bool fits = BruteForce(empty).has_value();
    ASSERT_EQ(plan.outcome, fits ? Outcome::kNotNow : Outcome::kNever) << Describe(c);
    ++(fits ? not_now : never);
  }
  EXPECT_GT(never, MoreThan(100));
  EXPECT_GT(not_now, MoreThan(100));
}

// Of "placement: {a, b}"; empty if the text says something else.
std::vector<std::string> FieldsOf(const std::string& text) {
  constexpr std::string_view kBegin = "placement: {";
  if (!text.starts_with(kBegin) || !text.ends_with("}")) return {};
  std::vector<std::string> fields =
      Split(text.substr(kBegin.size(), text.size() - kBegin.size() - 1), ',');
  for (std::string& field : fields) field.erase(0, field.find_first_not_of(' '));
  return fields;
}

// The job with every change of the text made to its limits; nothing if the text says more.
std::optional<workload::PlacementPolicy> Apply(workload::PlacementPolicy policy,
                                               const std::string& text) {
  for (const std::string& change : FieldsOf(text)) {
    const std::size_t colon = change.find(": ");
    const std::string name = change.substr(0, colon), to = change.substr(colon + 2);
    const std::map<std::string, workload::GroupPolicy*> families = {{"data", &policy.data},
                                                                    {"expert", &policy.expert},
                                                                    {"context", &policy.context},
                                                                    {"tensor", &policy.tensor},
                                                                    {"pipeline", &policy.pipeline}};
    const auto family = families.find(name);
    if (family == families.end()) {
      EXPECT_EQ(name, "maxStagesPerSegment") << text;
      policy.max_stages_per_segment = std::stoi(to);
    } else if (to == "{mode: Preferred}") {
      family->second->mode = Enforcement::kPreferred;
    } else {
      EXPECT_THAT(to, testing::AnyOf("{within: Segment}", "{within: FabricPod}")) << text;
      family->second->within =
          to == "{within: Segment}" ? TopologyLevel::kSegment : TopologyLevel::kFabricPod;
    }
  }
  return FieldsOf(text).empty() ? std::nullopt : std::optional(policy);
}

TEST(ExplainTest, RelaxationsOfLimitsDoHelpAndNoPartOfThemDoes) {
  Random random(22);
  int tried = 0, combined = 0;
  for (int round = 0; round < Rounds(4000); ++round) {
    Case c = RandomCase(random, {6, 4, true});
    const GangPlan plan = PlanGang(c.cluster, c.request());
    for (const Relaxation& relaxation : plan.relaxations) {
      Case changed = c;
      const auto policy = Apply(c.job.placement, relaxation.change);
      if (!policy) continue;
      changed.job.placement = *policy;
      ASSERT_LT(relaxation.outcome, plan.outcome) << Describe(c);
      ASSERT_EQ(PlanGang(changed.cluster, changed.request()).outcome, relaxation.outcome)
          << Describe(c) << relaxation.change;
      ++tried;
      const std::vector<std::string> parts = FieldsOf(relaxation.change);
      if (parts.size() < 2) continue;
      ++combined;
      for (std::size_t without = 0; without < parts.size(); ++without) {
        std::vector<std::string> rest = parts;
        rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(without));
        changed.job.placement =
            *Apply(c.job.placement, StrCat("placement: {", Join(rest, ", "), "}"));
        ASSERT_GT(PlanGang(changed.cluster, changed.request()).outcome, relaxation.outcome)
            << Describe(c) << relaxation.change;
      }
    }
  }
  EXPECT_GT(tried, MoreThan(100));
  EXPECT_GT(combined, 5);
}

// The cluster with so many more free hosts in a segment, as large as the largest.
Cluster WithMoreHosts(const Cluster& cluster, int count, const std::string& segment) {
  const fabric::Places& places = *cluster.places;
  std::vector<fabric::HostPlace> hosts;
  std::int16_t gpus = 0;
  std::string pod;
  for (fabric::HostId h : places.hosts()) {
    const fabric::SegmentId s = places.segment_of(h);
    if (places.name(s) == segment) pod = places.name(places.fabric_pod_of(s));
    hosts.push_back({places.name(h), places.name(places.fabric_pod_of(s)), places.name(s), {}});
    gpus = std::max(gpus, cluster.hosts[h.index()].gpus);
  }
  for (int i = 0; i < count; ++i) hosts.push_back({StrCat("new", i), pod, segment, {}});
  Cluster more;
  more.places = std::make_shared<const fabric::Places>(fabric::Places::Build(hosts).value());
  HostState added;
  added.gpus = added.free_gpus = gpus;
  for (fabric::HostId h : more.places->hosts()) {
    const fabric::HostId before = places.FindHost(more.places->name(h));
    more.hosts.push_back(before.valid() ? cluster.hosts[before.index()] : added);
  }
  return more;
}

// The case with everything done that the text of a relaxation says.
Case Changed(const Case& c, std::string text) {
  Case changed = c;
  changed.cluster.uplink_load.clear();
  if (const std::size_t wait = text.find("wait: "); wait != std::string::npos) {
    for (HostState& host : changed.cluster.hosts) {
      host.free_gpus = host.gpus;
      host.unavailable = Unavailability::kNo;
      host.reserved_for = -1;
    }
    text.erase(wait);
  } else if (const std::size_t hosts = text.find("hosts: "); hosts != std::string::npos) {
    if (text.find("backup") == 0) {
      for (HostState& host : changed.cluster.hosts) host.backup = false;
      text.clear();
    } else {
      const std::string rest = text.substr(hosts + 7);
      changed.cluster =
          WithMoreHosts(changed.cluster, std::stoi(rest), rest.substr(rest.find("segment ") + 8));
      text.erase(hosts);
    }
  }
  if (text.size() > 2 && text.substr(text.size() - 2) == "; ") text.erase(text.size() - 2);
  if (!text.empty()) changed.job.placement = *Apply(c.job.placement, text);
  return changed;
}

TEST(ExplainTest, EveryRelaxationDoesWhatItSays) {
  Random random(23);
  std::map<std::string, int> tried;
  for (int round = 0; round < Rounds(4000); ++round) {
    const Case c = round % 4 == 0 ? WideCase(random) : RandomCase(random, {6, 4, round % 2 == 0});
    const GangPlan plan = PlanGang(c.cluster, c.request());
    for (const Relaxation& relaxation : plan.relaxations) {
      const Case changed = Changed(c, relaxation.change);
      ASSERT_EQ(PlanGang(changed.cluster, changed.request()).outcome, relaxation.outcome)
          << Describe(c) << relaxation.change;
      const std::string& text = relaxation.change;
      ++tried[text.substr(0, text.find(':'))];
      for (const char* field : {"data: ", "tensor: ", "expert: ", "maxStagesPerSegment: "}) {
        tried[field] += text.find(field) != std::string::npos ? 1 : 0;
      }
      if (text.find("; hosts: ") != std::string::npos) ++tried["both"];
    }
  }
  for (const char* kind : {"hosts", "backup hosts", "wait",
                           "data: ", "tensor: ", "expert: ", "maxStagesPerSegment: ", "both"}) {
    EXPECT_GT(tried[kind], MoreThan(10)) << kind;
  }
}

}  // namespace
}  // namespace yardmaster::placement
