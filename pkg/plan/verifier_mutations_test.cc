// Every promise the verifier makes, broken one at a time in a placement that is right otherwise.
#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "pkg/fabric/testing/fabrics.h"
#include "pkg/plan/testing/snapshots.h"
#include "pkg/plan/verifier.h"

namespace yardmaster::plan {
namespace {

using fabric::HostId;
using placement::Unavailability;
using testing::HasSubstr;
using workload::Enforcement;
using workload::GroupPolicy;
using workload::PlacementPolicy;
using workload::TopologyLevel;

// Two fabric pods of two segments of four hosts, the last of each a backup: hosts 0 1 2 | 4 5 6 in
// the first pod, 8 9 10 | 12 13 14 in the second.
Snapshot FourSegments() { return MakeSnapshot(fabric::SmallHpn(2, 2, 4)); }

std::string Verdict(const Snapshot& s, const std::vector<HostId>& hosts, bool backup = false) {
  return MessageOf(VerifyPlacement(s, JobId(0), hosts, backup));
}

struct Family {
  const char* name;
  int workload::Parallelism::*axis;
  GroupPolicy PlacementPolicy::*policy;
};
constexpr Family kFamilies[] = {
    {"tensor", &workload::Parallelism::tensor, &PlacementPolicy::tensor},
    {"context", &workload::Parallelism::context, &PlacementPolicy::context},
    {"expert", &workload::Parallelism::expert, &PlacementPolicy::expert},
    {"data", &workload::Parallelism::data, &PlacementPolicy::data},
    {"pipeline", &workload::Parallelism::pipeline, &PlacementPolicy::pipeline}};

struct Level {
  TopologyLevel within;
  const char* name;
  HostId inside;   // of host 0's place
  HostId outside;  // the next place
};
const Level kLevels[] = {{TopologyLevel::kHost, "one host", HostId(0), HostId(1)},
                         {TopologyLevel::kSegment, "one segment", HostId(1), HostId(4)},
                         {TopologyLevel::kFabricPod, "one fabric pod", HostId(4), HostId(8)}};

// Two workers of one GPU that are one group of this family, and nothing else is limited.
Snapshot PairOf(const Family& family) {
  Snapshot s = FourSegments();
  workload::Parallelism p;
  p.*family.axis = 2;
  if (family.axis == &workload::Parallelism::expert) p.data = 2;
  JobState& job = AddJob(s, "pair", p, 1);
  for (const Family& other : kFamilies) {
    job.job.placement.*other.policy = {TopologyLevel::kFabric, Enforcement::kPreferred};
  }
  return s;
}

TEST(VerifierMutationsTest, EveryFamilyAtEveryLevelIsKeptTogether) {
  for (const Family& family : kFamilies) {
    Snapshot s = PairOf(family);
    GroupPolicy& policy = s.jobs[0].job.placement.*family.policy;
    for (const Level& level : kLevels) {
      policy = {level.within, Enforcement::kRequired};
      EXPECT_EQ(Verdict(s, {HostId(0), level.inside}), "") << family.name << level.name;
      EXPECT_THAT(Verdict(s, {HostId(0), level.outside}),
                  testing::AllOf(HasSubstr(family.name), HasSubstr(level.name)));
      policy.mode = Enforcement::kPreferred;
      EXPECT_EQ(Verdict(s, {HostId(0), level.outside}), "") << family.name << level.name;
    }
    policy = {TopologyLevel::kFabric, Enforcement::kRequired};
    EXPECT_EQ(Verdict(s, {HostId(0), HostId(8)}), "") << family.name;
  }
}

// The pod's first segment of three ordinary hosts: two in one domain, one in another.
Snapshot WithDomains(Snapshot s) {
  const fabric::Places& before = *s.places;
  std::vector<fabric::HostPlace> hosts;
  for (const HostId host : before.hosts()) {
    fabric::HostPlace place;
    place.name = before.name(host);
    place.segment = before.name(before.segment_of(host));
    place.fabric_pod = before.name(before.fabric_pod_of(host));
    if (host.value < 3) place.domain = host.value < 2 ? "d0" : "d1";
    hosts.push_back(std::move(place));
  }
  s.places = std::make_shared<const fabric::Places>(fabric::Places::Build(hosts).value());
  s.cluster.places = s.places;
  return s;
}

TEST(VerifierMutationsTest, AGroupIsKeptInsideADomain) {
  for (const Family& family : kFamilies) {
    Snapshot s = WithDomains(PairOf(family));
    s.jobs[0].job.placement.*family.policy = {TopologyLevel::kDomain, Enforcement::kRequired};
    EXPECT_EQ(Verdict(s, {HostId(0), HostId(1)}), "") << family.name;
    EXPECT_THAT(Verdict(s, {HostId(0), HostId(2)}),
                testing::AllOf(HasSubstr(family.name), HasSubstr("one domain")));
  }
}

TEST(VerifierMutationsTest, AUnitOfHostsIsAloneInItsDomain) {
  Snapshot s = FourSegments();
  AddJob(s, "a", 2);
  s = WithDomains(std::move(s));
  s.jobs[0].job.placement.domain_unit = 2;
  EXPECT_EQ(Verdict(s, {HostId(0), HostId(1)}), "");
  EXPECT_THAT(Verdict(s, {HostId(1), HostId(2)}), HasSubstr("lie in 2 domains"));
  s.jobs[0].job.placement.domain_unit = 1;
  EXPECT_EQ(Verdict(s, {HostId(1), HostId(2)}), "");
  EXPECT_THAT(Verdict(s, {HostId(0), HostId(1)}), HasSubstr("holds ranks of 2 units of 1 host"));
}

// Four workers in one data group on the first hosts of both segments of a pod.
Snapshot FourWorkers() {
  Snapshot s = FourSegments();
  AddJob(s, "a", 4);
  return s;
}
const std::vector<HostId> kRight = {HostId(0), HostId(1), HostId(4), HostId(5)};

TEST(VerifierMutationsTest, EveryRankHasOneHost) {
  const Snapshot s = FourWorkers();
  ASSERT_EQ(Verdict(s, kRight), "");
  std::vector<HostId> hosts = kRight;
  hosts.pop_back();
  EXPECT_THAT(Verdict(s, hosts), HasSubstr("3 ranks have a host, the job has 4"));
  hosts = kRight;
  hosts.push_back(HostId(6));
  EXPECT_THAT(Verdict(s, hosts), HasSubstr("5 ranks have a host, the job has 4"));
  EXPECT_THAT(Verdict(s, {}), HasSubstr("0 ranks have a host"));
  for (std::size_t rank = 0; rank < kRight.size(); ++rank) {
    for (HostId no_host : {HostId(), HostId(-2), HostId(16), HostId(1 << 30)}) {
      hosts = kRight;
      hosts[rank] = no_host;
      EXPECT_THAT(Verdict(s, hosts), HasSubstr("rank " + std::to_string(rank) + " has no host"));
    }
  }
}

TEST(VerifierMutationsTest, EveryHostIsUsable) {
  for (std::size_t rank = 0; rank < kRight.size(); ++rank) {
    const std::size_t host = kRight[rank].index();
    for (Unavailability out :
         {Unavailability::kNotReady, Unavailability::kCordoned, Unavailability::kTainted}) {
      Snapshot s = FourWorkers();
      s.cluster.hosts[host].unavailable = out;
      EXPECT_THAT(Verdict(s, kRight), HasSubstr("out of service"));
    }
    Snapshot s = FourWorkers();
    s.cluster.hosts[host].backup = true;
    EXPECT_THAT(Verdict(s, kRight), HasSubstr("backup host"));
    EXPECT_EQ(Verdict(s, kRight, true), "");
    s = FourWorkers();
    s.cluster.hosts[host].reserved_for = 7;
    EXPECT_THAT(Verdict(s, kRight), HasSubstr("reserved for another job"));
    s.cluster.hosts[host].reserved_for = 0;
    EXPECT_EQ(Verdict(s, kRight), "");
    std::vector<std::uint8_t> eligible(16, 1);
    eligible[host] = 0;
    s.jobs[0].eligible = std::make_shared<const std::vector<std::uint8_t>>(eligible);
    EXPECT_THAT(Verdict(s, kRight), HasSubstr("pod template"));
  }
}

TEST(VerifierMutationsTest, EveryHostHasTheSameGpuModel) {
  for (std::size_t rank = 0; rank < kRight.size(); ++rank) {
    Snapshot s = FourWorkers();
    s.cluster.gpu_models =
        std::make_shared<const std::vector<std::string>>(std::vector<std::string>{"a", "b"});
    s.cluster.hosts[kRight[rank].index()].gpu_model = 1;
    EXPECT_THAT(Verdict(s, kRight), HasSubstr("different GPU models: a, b"));
    s.jobs[0].job.mixed_gpu_models = true;
    EXPECT_EQ(Verdict(s, kRight), "");
    s.jobs[0].job.mixed_gpu_models = false;
    s.jobs[0].assignment = Assignment{kRight};
    EXPECT_EQ(Verdict(s, kRight), "") << "it was placed so";
  }
}

TEST(VerifierMutationsTest, NoHostHoldsMoreThanItHas) {
  Snapshot s = FourWorkers();
  s.cluster.hosts[5].free_gpus = 7;
  EXPECT_THAT(Verdict(s, kRight), HasSubstr("8 GPUs are given out and 7 are free"));
  s.cluster.hosts[5].free_gpus = 8;
  EXPECT_THAT(Verdict(s, {HostId(0), HostId(1), HostId(4), HostId(4)}),
              HasSubstr("16 GPUs are given out and 8 are free"));
  // Small workers share a host up to what is free.
  workload::Parallelism p;
  p.data = 8;
  Snapshot small = FourSegments();
  AddJob(small, "small", p, 2);
  EXPECT_EQ(Verdict(small, {HostId(0), HostId(0), HostId(0), HostId(0)}), "");
  small.cluster.hosts[0].free_gpus = 6;
  EXPECT_THAT(Verdict(small, {HostId(0), HostId(0), HostId(0), HostId(0)}),
              HasSubstr("8 GPUs are given out and 6 are free"));
  EXPECT_EQ(Verdict(small, {HostId(0), HostId(1), HostId(0), HostId(0)}), "");
}

TEST(VerifierMutationsTest, ReplacedRanksNeedRoomAndTheOthersKeepTheirs) {
  Snapshot s = FourWorkers();
  Place(s, JobId(0), kRight);
  EXPECT_EQ(Verdict(s, kRight), "");
  EXPECT_EQ(Verdict(s, {HostId(0), HostId(2), HostId(4), HostId(5)}), "");
  EXPECT_THAT(Verdict(s, {HostId(0), HostId(3), HostId(4), HostId(5)}), HasSubstr("backup host"));
  EXPECT_EQ(Verdict(s, {HostId(0), HostId(3), HostId(4), HostId(5)}, true), "");
  // Onto the host of one that stays; then both change places.
  EXPECT_THAT(Verdict(s, {HostId(0), HostId(0), HostId(4), HostId(5)}), HasSubstr("given out"));
  EXPECT_EQ(Verdict(s, {HostId(1), HostId(0), HostId(4), HostId(5)}), "");
}

TEST(VerifierMutationsTest, NoSegmentHoldsTooManyStages) {
  workload::Parallelism p;
  p.tensor = 8;
  p.pipeline = 3;
  Snapshot s = FourSegments();
  AddJob(s, "stages", p, 8);
  const std::vector<HostId> together = {HostId(0), HostId(1), HostId(4)};
  for (int limit : {0, 2, 3}) {
    s.jobs[0].job.placement.max_stages_per_segment = limit;
    EXPECT_EQ(Verdict(s, together), "");
  }
  s.jobs[0].job.placement.max_stages_per_segment = 1;
  EXPECT_THAT(Verdict(s, together), HasSubstr("holds 2 stages, at most 1 may"));
  EXPECT_EQ(Verdict(s, {HostId(0), HostId(4), HostId(8)}), "");
}

}  // namespace
}  // namespace yardmaster::plan
