// The structure of a gang that matters for the choice of segments: which workers must stay
// together, which may be separated at a price, and how regular the gang is. docs/solver.md draws an
// example.
//
//   host set    workers that must share a host        (Required within Host)
//   domain set  workers that must share a domain      (Required within Domain, units of hosts)
//   atom        workers that must share a segment     (Required within Segment or less)
//   unit        atoms joined by tensor, context or expert groups
//   component   units joined by data groups; a stage never lies in two components
//   pod set     workers that must share a fabric pod  (Required within FabricPod or less)
//
// Traffic between components has no price, so whole components in segments are optimal. Almost
// every real job is *uniform*: equal components of equal units, each data group touching every unit
// of its component. Then the price of a split does not depend on its position.
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

// What the pod sets require of a solver that keeps units whole. A rule may be stricter than the
// limits, if no weaker rule keeps all groups inside one fabric pod. A placement by the rule is then
// still optimal, but finding none proves nothing (GangModel::rule_is_limit).
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
  Partition domain_sets;  // the host sets where there are no domains
  Partition atoms;
  Partition units;
  Partition components;
  Partition pod_sets;
  // Size of the host sets if they are all equal, else 0.
  int host_set_size = 1;
  int domain_set_size = 1;  // likewise; of units of hosts that of all but the last
  PodRule pod_rule = PodRule::kNone;
  bool rule_is_limit = true;
  // Components have equal sizes and equal numbers of stages.
  bool equal_components = false;
  bool uniform = false;
  int stages_per_component = 0;    // if equal_components
  std::int64_t data_groups = 0;    // per component, if uniform
  int max_stages_per_segment = 0;  // 0: no limit
  // Workers in each used domain, except for the last ranks of the gang; 0: any number.
  int domain_unit = 0;

  // Returns how many workers, in whole domain sets, a domain with room for `workers_free` takes.
  int RoomInDomain(int workers_free) const;
};

// The properties of the fabric's domains that a gang depends on.
struct DomainLevel {
  bool any = false;  // false: every host is one
  int workers_per_host = 1;
};

GangModel ModelOf(const workload::Job& job, const workload::WorkerGroups& groups,
                  const DomainLevel& domains = {});

// The same gang, with the workers of each of these sets in one domain. Each set lies in a unit and
// is made of whole domain sets.
GangModel WithDomainSets(const GangModel& model, const Partition& domain_sets);

// The classes of `base`, joined by these groups.
Partition Joined(const Partition& base,
                 std::initializer_list<const std::vector<workload::WorkerGroup>*> families);

// Workers whose GPUs differ only in their pipeline rank, like WorkerGroups' families.
std::vector<workload::WorkerGroup> PipelineGroups(const workload::Job& job);

}  // namespace yardmaster::placement
