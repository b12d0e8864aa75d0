// After any history of a cluster, the snapshot made step by step equals the one made from nothing.

#include "gtest/gtest.h"

#include "pkg/api/slot.h"
#include "pkg/base/strings.h"
#include "pkg/base/testing/rounds.h"
#include "pkg/state/node_facts.h"
#include "pkg/state/snapshot_builder.h"
#include "pkg/state/testing/cluster_history.h"

namespace yardmaster::state {
namespace {

using fabric::HostId;

void ExpectSamePlaces(const fabric::Places& a, const fabric::Places& b) {
  ASSERT_EQ(a.num_hosts(), b.num_hosts());
  ASSERT_EQ(a.num_segments(), b.num_segments());
  ASSERT_EQ(a.num_fabric_pods(), b.num_fabric_pods());
  for (HostId host : a.hosts()) {
    EXPECT_EQ(a.name(host), b.name(host));
    EXPECT_EQ(a.name(a.segment_of(host)), b.name(b.segment_of(host)));
    EXPECT_EQ(a.name(a.fabric_pod_of(host)), b.name(b.fabric_pod_of(host)));
    EXPECT_EQ(a.nic_addresses(host), b.nic_addresses(host));
    EXPECT_EQ(a.address_problem(host), b.address_problem(host));
  }
}

void ExpectSameJob(const plan::JobState& a, const plan::JobState& b) {
  EXPECT_EQ(a.job.key.text(), b.job.key.text());
  EXPECT_EQ(a.job.uid, b.job.uid);
  EXPECT_EQ(a.job.created_ms, b.job.created_ms);
  EXPECT_EQ(a.job.priority, b.job.priority);
  EXPECT_EQ(a.job.workers, b.job.workers);
  EXPECT_EQ(a.job.gpus_per_worker, b.job.gpus_per_worker);
  EXPECT_EQ(a.job.counts_gpus, b.job.counts_gpus);
  EXPECT_EQ(a.job.requests, b.job.requests);
  EXPECT_EQ(a.job.parallelism, b.job.parallelism);
  EXPECT_EQ(a.job.preemptible, b.job.preemptible);
  EXPECT_EQ(a.groups->workers, b.groups->workers);
  EXPECT_EQ(a.groups->tensor, b.groups->tensor);
  EXPECT_EQ(a.groups->data, b.groups->data);
  EXPECT_EQ(a.groups->stages_of_worker, b.groups->stages_of_worker);
  ASSERT_EQ(a.role_hosts == nullptr, b.role_hosts == nullptr);
  if (a.role_hosts != nullptr) {
    EXPECT_EQ(*a.role_hosts, *b.role_hosts);
  }
  ASSERT_EQ(a.eligible == nullptr, b.eligible == nullptr);
  if (a.eligible != nullptr) {
    EXPECT_EQ(*a.eligible, *b.eligible);
  }
  ASSERT_EQ(a.assignment.has_value(), b.assignment.has_value());
  if (a.assignment) {
    EXPECT_EQ(a.assignment->host_of_rank, b.assignment->host_of_rank);
  }
  ASSERT_EQ(a.next.has_value(), b.next.has_value());
  if (a.next) {
    EXPECT_EQ(a.next->host_of_rank, b.next->host_of_rank);
  }
  EXPECT_EQ(a.lost_ranks, b.lost_ranks);
  EXPECT_EQ(a.problems, b.problems);
  EXPECT_EQ(a.started_ms, b.started_ms);
  EXPECT_EQ(a.grace_seconds, b.grace_seconds);
  EXPECT_EQ(a.owner, b.owner);
  EXPECT_EQ(a.released, b.released);
}

void ExpectSame(const plan::Snapshot& a, const plan::Snapshot& b) {
  ASSERT_NO_FATAL_FAILURE(ExpectSamePlaces(*a.places, *b.places));
  ASSERT_EQ(a.network == nullptr, b.network == nullptr);
  if (a.network != nullptr) {
    EXPECT_EQ(a.network->spec().name, b.network->spec().name);
    EXPECT_EQ(a.network->num_cables(), b.network->num_cables());
    EXPECT_EQ(a.network->spec().backup.hosts_per_segment,
              b.network->spec().backup.hosts_per_segment);
    EXPECT_EQ(&a.network->places(), a.places.get());
  }
  EXPECT_EQ(a.cluster.places, a.places);
  EXPECT_EQ(a.cluster.hosts, b.cluster.hosts);
  EXPECT_EQ(*a.cluster.gpu_models, *b.cluster.gpu_models);
  EXPECT_EQ(*a.cluster.resources.names, *b.cluster.resources.names);
  EXPECT_EQ(*a.cluster.resources.allocatable, *b.cluster.resources.allocatable);
  EXPECT_EQ(a.cluster.resources.free, b.cluster.resources.free);
  EXPECT_EQ(a.cable_down, b.cable_down);
  ASSERT_EQ(a.ordinary_pods.size(), b.ordinary_pods.size());
  for (std::size_t h = 0; h < a.ordinary_pods.size(); ++h) {
    ASSERT_EQ(a.ordinary_pods[h] == nullptr, b.ordinary_pods[h] == nullptr);
    if (a.ordinary_pods[h] != nullptr) {
      EXPECT_EQ(*a.ordinary_pods[h], *b.ordinary_pods[h]);
    }
  }
  EXPECT_EQ(a.warnings, b.warnings);
  ASSERT_EQ(a.jobs.size(), b.jobs.size());
  for (std::size_t j = 0; j < a.jobs.size(); ++j) {
    SCOPED_TRACE(a.jobs[j].job.key.text());
    ASSERT_NO_FATAL_FAILURE(ExpectSameJob(a.jobs[j], b.jobs[j]));
  }
}

TEST(SnapshotHistoryTest, StepByStepAndFromNothingGiveTheSameSnapshot) {
  int placed = 0, lost = 0, narrowed = 0, with_network = 0;
  for (unsigned seed = 1; seed <= Rounds(150u); ++seed) {
    SCOPED_TRACE(StrCat("seed ", seed));
    ClusterHistory history(seed);
    SnapshotBuilder builder;
    std::vector<ClusterState> past;
    for (int step = 0; step < 80; ++step) {
      SCOPED_TRACE(StrCat("step ", step));
      // Often nothing, or one object; sometimes a flock.
      const unsigned changes = step == 0 ? 60 : history.Below(10) == 0 ? 12 : history.Below(3);
      for (unsigned i = 0; i < changes; ++i) history.Step();
      if (!past.empty() && history.Below(15) == 0) {
        history.JumpTo(past[history.Below(static_cast<unsigned>(past.size()))]);
      }
      past.push_back(history.cluster());
      const plan::Snapshot kept = builder.Build(history.cluster());
      ASSERT_NO_FATAL_FAILURE(ExpectSame(kept, BuildSnapshot(history.cluster())));
      if (testing::Test::HasFailure()) return;
      with_network += kept.network != nullptr;
      for (const plan::JobState& job : kept.jobs) {
        placed += job.assignment.has_value();
        lost += !job.lost_ranks.empty();
        narrowed += job.eligible != nullptr;
      }
    }
  }
  // The histories are not about nothing.
  EXPECT_GT(placed, MoreThan(1000));
  EXPECT_GT(lost, MoreThan(1000));
  EXPECT_GT(narrowed, MoreThan(1000));
  EXPECT_GT(with_network, MoreThan(1000));
}

// What is free on a host, resource by resource and pod by pod: what the Node lists, less what its
// pods ask for, less what was promised to ranks without a pod there.
std::int64_t FreeByHand(const ClusterState& cluster, const plan::Snapshot& snapshot,
                        const std::string& node, const std::string& resource) {
  const auto object = cluster.nodes.Find({"", node});
  std::int64_t free = object == nullptr ? 0 : AllocatableOf(*object, resource);
  for (const plan::JobState& job : snapshot.jobs) {
    if (!job.assignment) continue;
    const auto& hosts = job.assignment->host_of_rank;
    for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
      if (snapshot.places->name(hosts[rank]) != node) continue;
      const std::int64_t promised = workload::AmountOf(job.job.requests, resource);
      std::int64_t others = 0;
      bool taken = false;
      for (const auto& pod : cluster.pods) {
        const auto slot = api::Find(pod->metadata.annotations, api::kSlotAnnotation);
        if (!slot || pod->node_name != node || pod->finished()) continue;
        const auto read = api::DecodeSlot(*slot);
        if (read->gang != job.job.key.name || read->rank != static_cast<int>(rank)) continue;
        const std::int64_t asked = workload::AmountOf(pod->requests, resource);
        others += taken ? asked : std::max<std::int64_t>(0, asked - promised);
        taken = true;
      }
      free -= promised + others;
    }
    if (!job.next) continue;
    const auto ranks_here = [&](const plan::Assignment& place) {
      return std::count_if(place.host_of_rank.begin(), place.host_of_rank.end(),
                           [&](HostId host) { return snapshot.places->name(host) == node; });
    };
    const auto more = ranks_here(*job.next) - ranks_here(*job.assignment);
    free -= std::max<std::int64_t>(0, more) * workload::AmountOf(job.job.requests, resource);
  }
  for (const auto& pod : cluster.pods) {
    if (pod->node_name != node || pod->finished()) continue;
    const auto slot = api::Find(pod->metadata.annotations, api::kSlotAnnotation);
    bool on_slot = false;
    if (slot) {
      const auto read = api::DecodeSlot(*slot);
      for (const plan::JobState& job : snapshot.jobs) {
        if (job.job.key.name != read->gang || !job.assignment) continue;
        const auto& hosts = job.assignment->host_of_rank;
        on_slot = read->rank < static_cast<int>(hosts.size()) &&
                  snapshot.places->name(hosts[static_cast<std::size_t>(read->rank)]) == node;
      }
    }
    if (!on_slot) free -= workload::AmountOf(pod->requests, resource);
  }
  return free;
}

TEST(SnapshotHistoryTest, WhatIsFreeIsWhatACountPodByPodLeaves) {
  int counted = 0, occupied = 0;
  for (unsigned seed = 200; seed < 260; ++seed) {
    ClusterHistory history(seed);
    for (int i = 0; i < 120; ++i) history.Step();
    ClusterState cluster = history.cluster();
    // Labels find ranks through gangs' rank bases; slots say them.
    std::vector<std::shared_ptr<const api::Pod>> labelled;
    for (const auto& pod : cluster.pods) {
      if (!pod->metadata.labels.empty()) labelled.push_back(pod);
    }
    for (const auto& pod : labelled) {
      cluster.pods.Erase({pod->metadata.namespace_name, pod->metadata.name});
    }
    const plan::Snapshot snapshot = BuildSnapshot(cluster);
    const placement::HostResources& resources = snapshot.cluster.resources;
    for (HostId host : snapshot.places->hosts()) {
      for (std::size_t column = 0; column < resources.columns(); ++column) {
        SCOPED_TRACE(StrCat("seed ", seed, " host ", snapshot.places->name(host), " ",
                            (*resources.names)[column]));
        const std::size_t at = host.index() * resources.columns() + column;
        const std::int64_t by_hand =
            FreeByHand(cluster, snapshot, snapshot.places->name(host), (*resources.names)[column]);
        // A Node that is not used has no row of its own.
        if ((*resources.allocatable)[at] == 0) continue;
        ASSERT_EQ(resources.free[at], by_hand);
        ++counted;
        occupied += resources.free[at] != (*resources.allocatable)[at];
      }
    }
  }
  EXPECT_GT(counted, 500);
  EXPECT_GT(occupied, 200);
}

TEST(SnapshotHistoryTest, WhatDidNotChangeIsSharedBetweenSnapshots) {
  ClusterHistory history(5);
  for (int i = 0; i < 100; ++i) history.Step();
  SnapshotBuilder builder;
  const plan::Snapshot before = builder.Build(history.cluster());
  ClusterState cluster = history.cluster();
  api::Pod pod;
  pod.metadata.name = "new";
  pod.node_name = before.places->name(HostId(0));
  workload::SetAmount(pod.requests, api::kGpuResource, 1);
  cluster.pods.Put(std::make_shared<const api::Pod>(pod));
  const plan::Snapshot after = builder.Build(cluster);
  EXPECT_EQ(after.places, before.places);
  EXPECT_EQ(after.network, before.network);
  ASSERT_EQ(after.jobs.size(), before.jobs.size());
  for (std::size_t j = 0; j < after.jobs.size(); ++j) {
    EXPECT_EQ(after.jobs[j].groups, before.jobs[j].groups);
    EXPECT_EQ(after.jobs[j].eligible, before.jobs[j].eligible);
  }
}

}  // namespace
}  // namespace yardmaster::state
