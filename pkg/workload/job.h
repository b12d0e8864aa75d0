// A training job as every pure layer sees it: its size, its traffic, and when it may be moved or
// interrupted. The api layer makes it out of a TrainingJob or out of other controllers' pods.
//
// Thread safety: values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pkg/base/namespaced_name.h"
#include "pkg/workload/parallelism.h"
#include "pkg/workload/resources.h"
#include "pkg/workload/traffic_model.h"

namespace yardmaster::workload {

// The smallest place a group of GPUs must, or should, lie in. A domain is what hosts that share a
// scale-up network make up; where no hosts do, each host is one.
enum class TopologyLevel { kHost, kDomain, kSegment, kFabricPod, kFabric };
enum class Enforcement { kRequired, kPreferred };

struct GroupPolicy {
  TopologyLevel within = TopologyLevel::kFabric;
  Enforcement mode = Enforcement::kPreferred;
  bool operator==(const GroupPolicy&) const = default;
};

// Which groups must or should lie where. In any case the objective keeps groups as close
// together as it can; Required adds a limit that is never crossed.
struct PlacementPolicy {
  GroupPolicy tensor{TopologyLevel::kSegment, Enforcement::kRequired};
  GroupPolicy context{TopologyLevel::kSegment, Enforcement::kRequired};
  GroupPolicy expert{TopologyLevel::kFabricPod, Enforcement::kRequired};
  GroupPolicy data{TopologyLevel::kFabricPod, Enforcement::kRequired};
  GroupPolicy pipeline{TopologyLevel::kFabric, Enforcement::kPreferred};
  // At most this many stages in one segment; 0: no limit.
  int max_stages_per_segment = 0;
  // The gang takes this many hosts of each domain that it uses, for consecutive ranks; 0: any
  // number. Means nothing on a fabric without domains.
  int domain_unit = 0;
  bool operator==(const PlacementPolicy&) const = default;
};

// What one iteration costs, as far as it is known. Zero FLOP, compute time and bytes: unknown,
// estimated from the model (CompleteProfile).
struct Profile {
  double flop_per_iteration = 0;     // whole job
  double compute_seconds = 0;        // of one iteration without waiting
  double communication_start = 0.5;  // fraction of compute after which communication may begin
  // Bytes each GPU sends in one iteration, by traffic kind.
  double data_bytes = 0;
  double expert_data_bytes = 0;  // for the gradients of experts, which fewer GPUs share
  double pipeline_bytes = 0;
  double tensor_bytes = 0;
  double context_bytes = 0;
  double expert_bytes = 0;
  bool measured = false;
  // Measured duration of an iteration's transfers without contention; 0: derived from the bytes.
  double communication_seconds = 0;
  bool operator==(const Profile&) const = default;
};

// Workers whose requests differ from others': from `first_rank` on, up to the next role's.
struct Role {
  int first_rank = 0;
  ResourceList requests;         // as Job::requests
  std::optional<int> gpus = {};  // of each worker, from 0 on; nothing: Job::gpus_per_worker
  bool operator==(const Role&) const = default;
};

struct Job {
  NamespacedName key;
  std::string uid;
  std::int64_t created_ms = 0;
  int priority = 0;
  bool preemptible = false;  // may run on hosts kept for others, and is stopped when they need them
  bool may_preempt = true;   // stops jobs of lower priority for its place
  std::optional<double> run_seconds;             // expected, for backfill
  std::optional<std::int64_t> reserve_after_ms;  // waits this long, then reserves its place
  int workers = 1;
  int gpus_per_worker = 8;  // of workers that differ, the most
  // False: its GPUs are not those that hosts are counted by (MIG profiles, another vendor's); they
  // stand among `requests` then.
  bool counts_gpus = true;
  // What one worker asks of its host besides the GPUs that hosts are counted by; of workers that
  // differ, the most of each resource. Empty: not known, only GPUs are counted.
  ResourceList requests;
  std::string gpu_model;          // that its hosts must have; empty: any, one for all of them
  bool mixed_gpu_models = false;  // its hosts may have GPUs of several models
  // By first_rank, the first at 0. Empty: all workers are alike.
  std::vector<Role> roles;
  Parallelism parallelism;
  bool parallelism_given = false;
  PlacementPolicy placement;
  Profile profile;
  std::optional<Model> model;  // what estimates are made of; nothing: UsualModel

  bool operator==(const Job&) const = default;

  const ResourceList& RequestsOf(int rank) const;
  int GpusOf(int rank) const;
  // Of all workers together.
  std::int64_t gpus() const;
  bool gpus_differ() const;
  // The GPUs that parallelism numbers: all of them or, where roles have different numbers of GPUs
  // and the sizes multiply to that, those of the roles with the most.
  GpuNumbers numbers() const;

  // What a worker takes of placement::HostState::free_gpus; of workers that differ, the most.
  int host_gpus_per_worker() const { return counts_gpus ? gpus_per_worker : 0; }
  int HostGpusOf(int rank) const {
    return roles.empty() ? host_gpus_per_worker() : counts_gpus ? GpusOf(rank) : 0;
  }
};

// As GroupsOf of its parallelism. REQUIRES: Problems finds none.
WorkerGroups GroupsOf(const Job& job);

// Everything that contradicts itself in the job alone: sizes out of range, more than 1048576 GPUs,
// parallelism whose product is not the number of GPUs, a model that cannot be split so, groups that
// are Required within Host and larger than a host. Each "spec.field: problem; fix". Empty: valid.
std::vector<std::string> Problems(const Job& job, int gpus_per_host);

}  // namespace yardmaster::workload
