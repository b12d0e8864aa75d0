// Describes the structure of a gang for the choice of segments: which workers must stay together,
// which may be separated at a cost, and how regular the gang is. docs/solver.md has an example.
//
//   host set    workers that must share a host        (Required within Host)
//   domain set  workers that must share a domain      (Required within Domain, units of hosts)
//   atom        workers that must share a segment     (Required within Segment or less)
//   unit        atoms joined by tensor, context or expert groups
//   component   units joined by data groups; a stage never lies in two components
//   pod set     workers that must share a fabric pod  (Required within FabricPod or less)
//
// Traffic between components has no cost, so placing whole components in segments is optimal.
// Almost every real job is *uniform*: it has equal components of equal units, and each data group
// touches every unit of its component. Then the cost of a split does not depend on its position.
//
// Complexity: near-linear in the sum of group sizes. Thread safety: values and pure functions.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "pkg/workload/job.h"

namespace yardmaster::placement {

// A partition of the workers. Classes are numbered by their lowest worker.
struct Partition {
  std::vector<int> of;    // class by worker
  std::vector<int> size;  // workers by class
  int count() const { return static_cast<int>(size.size()); }
};

// What the pod sets require from a solver that keeps units whole. A rule may be stricter than the
// limits, if no weaker rule keeps all groups inside one fabric pod. A placement by the rule is
// still optimal, but another one may exist if none is found (GangModel::rule_is_limit).
enum class PodRule {
  kNone,       // every pod set lies inside a unit
  kComponent,  // a component must not be split over fabric pods
  kGang,       // the whole gang in one fabric pod
  kOther,
};

struct GangModel {
  int workers = 0;
  bool has_domains = false;
  Partition host_sets;
  Partition domain_sets;  // without domains: the host sets
  Partition atoms;
  Partition units;
  Partition components;
  Partition pod_sets;
  // Size of the host sets if they are all equal, else 0.
  int host_set_size = 1;
  int domain_set_size = 1;  // like host_set_size; the last unit of hosts may be smaller
  PodRule pod_rule = PodRule::kNone;
  bool rule_is_limit = true;
  // Components have equal sizes and equal numbers of stages.
  bool equal_components = false;
  bool uniform = false;
  int stages_per_component = 0;    // if equal_components
  std::int64_t data_groups = 0;    // per component, if uniform
  int max_stages_per_segment = 0;  // 0: no limit
  // Number of workers in each used domain, except for the last ranks of the gang; 0: any number.
  int domain_unit = 0;

  // Returns how many workers, in whole domain sets, a domain with capacity `workers_free` takes.
  int RoomInDomain(int workers_free) const;
};

// The properties of the fabric's domains that a gang depends on.
struct DomainLevel {
  bool any = false;  // false: every host is a domain
  int workers_per_host = 1;
};

GangModel ModelOf(const workload::Job& job, const workload::WorkerGroups& groups,
                  const DomainLevel& domains = {});

// Returns the same gang, with the workers of each of these sets in one domain. REQUIRES: each set
// lies in a unit and consists of whole domain sets.
GangModel WithDomainSets(const GangModel& model, const Partition& domain_sets);

// Returns the classes of `base`, joined by these groups.
Partition Joined(const Partition& base,
                 std::initializer_list<const std::vector<workload::WorkerGroup>*> families);

// Returns the groups of workers whose GPUs differ only in their pipeline rank, in the form of the
// families of WorkerGroups.
std::vector<workload::WorkerGroup> PipelineGroups(const workload::Job& job);

}  // namespace yardmaster::placement
