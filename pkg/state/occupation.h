// How much of each host is held, GPUs and every other resource that is planned with, kept from
// one ClusterState to the next. See snapshot_builder.h for the rules.
//
// Every bound, unfinished pod counts, whether it asks for GPUs or not. A pod that changed costs a
// count of its gang, and nothing but a comparison where it asks for the same on the same host; a
// pod of no gang costs itself. Hosts with other ids cost O(hosts + bound pods of gangs), other
// columns a count of everything.
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "pkg/state/host_capacity.h"
#include "pkg/state/job_index.h"

namespace yardmaster::state {

class Occupation {
 public:
  using OrdinaryPods = std::vector<plan::OrdinaryPod>;  // by name
  // Of any number of pods: 2^20 of them with kMaxAmount each are more than 64 bits hold.
  __extension__ using Sum = __int128;

  // `changed`: jobs that were read again or are gone. Also sets where jobs without a Gang stand by
  // their pods, and adds jobs that were counted again to `changed`. `other_columns`: those of
  // `capacity` are not the ones of the Update before.
  void Update(const ObjectTable<api::Pod>& pods, const HostIndex& hosts, const HostChanges& changes,
              const HostCapacity& capacity, bool other_columns, JobIndex& jobs,
              std::set<NamespacedName>& changed);
  // GPUs held or promised on a host; at most kMaxAmount.
  std::int64_t held(fabric::HostId host) const { return Clamped(held_[host.index()]); }
  // By HostId: pods with GPUs there that are in no gang with a place; null: none.
  std::vector<std::shared_ptr<const OrdinaryPods>> ordinary_pods(JobIndex& jobs) const;
  // Other resources held or promised, by HostId and column; each at most kMaxAmount.
  std::vector<std::int64_t> held_resources() const;

 private:
  // A bound, unfinished pod of a gang.
  struct BoundPod {
    std::shared_ptr<const api::Pod> pod;
    fabric::HostId host;      // invalid: not of the fabric
    std::optional<int> rank;  // nullopt: the gang's rank bases say it, by subgroup and index
    std::string subgroup;
    int index = 0;
  };
  using BoundPods = std::map<std::string, BoundPod>;  // by name
  // What one rank, or one pod beyond its rank's promise, takes of a host.
  struct Demand {
    std::int64_t gpus = 0;
    std::shared_ptr<const ColumnAmounts> amounts;  // null: none
  };
  struct Held {
    fabric::HostId host;
    Demand demand;
  };
  // What a gang and its pods hold together.
  struct Share {
    BoundPods pods;
    std::vector<Held> held;  // promises by rank, then those of a next place, then what pods add
  };
  using Shares = std::map<NamespacedName, Share>;
  // Where a bound pod of a gang is kept.
  struct Member {
    Shares::iterator share;
    BoundPods::iterator pod;
  };
  using Members = std::unordered_map<const api::Pod*, Member>;
  // What a pod of no gang asks for.
  struct Loose {
    std::int64_t gpus = 0;
    const ColumnAmounts& amounts;
    bool none() const { return gpus == 0 && amounts.empty(); }
  };
  // What all such pods on one Node hold together.
  struct NodeLoad {
    fabric::HostId host;  // invalid: not of the fabric
    int pods = 0;
    std::shared_ptr<const OrdinaryPods> with_gpus;  // null: none
    Sum gpus = 0;
    std::vector<Sum> amounts;  // by column
  };

  void Add(std::shared_ptr<const api::Pod> pod, const fabric::Places& places,
           std::set<NamespacedName>& changed);
  void AddLoose(const api::Pod& pod, const fabric::Places& places);
  // Another state of a pod of a gang, if it holds the same; else false.
  bool Replace(Members::iterator member, const std::shared_ptr<const api::Pod>& after);
  void Remove(Members::iterator member, std::set<NamespacedName>& changed);
  void RemoveLoose(const api::Pod& pod);
  // REQUIRES: the pod is in no gang. Valid until the next call.
  Loose LooseDemand(const api::Pod& pod);
  void Change(NodeLoad& load, const api::Pod& pod, const Loose& asked, int sign);
  // Sums of all hosts again. `recount`: pods are counted in other columns, or as other GPUs.
  void StartOver(const HostIndex& hosts, const HostChanges& changes, bool recount, JobIndex& jobs,
                 std::set<NamespacedName>& changed);
  void RecountLoads(const fabric::Places& places);
  void MoveLoads(const fabric::Places& places, const HostChanges& changes);
  static fabric::HostId MovedHost(const fabric::Places& places, const HostChanges& changes,
                                  fabric::HostId before, const std::string& node);
  static bool MoveShare(const fabric::Places& places, const HostChanges& changes, Share& share);
  void Count(const NamespacedName& key, KeptJob* job);
  void CountPromises(const plan::JobState& state, std::vector<Held>& held) const;
  // What the hosts of its next place hold beyond its present one.
  void CountNext(const plan::JobState& state, std::vector<Held>& held) const;
  void CountPods(const Share& share, const KeptJob* job, std::vector<Held>& held) const;
  Demand DemandOf(std::int64_t gpus, const workload::ResourceList& requests) const;
  // What the pod asks for beyond `promise`.
  Demand Beyond(const api::Pod& pod, const Demand& promise) const;
  static std::optional<int> RankOf(const BoundPod& pod, const KeptJob& job);
  // nullopt when the pod is not on its slot's host.
  static std::optional<std::size_t> RankOnSlot(const BoundPod& pod, const KeptJob* job);
  static std::optional<plan::Assignment> PlaceByPods(const Share& share, const KeptJob& job);
  std::int64_t GpusOf(const api::Pod& pod) const;
  void Change(const Held& held, int sign);
  static std::int64_t Clamped(Sum sum) {
    return sum > workload::kMaxAmount ? workload::kMaxAmount : static_cast<std::int64_t>(sum);
  }

  const HostCapacity* capacity_ = nullptr;  // of the Update under way
  std::string gpu_resource_;
  ObjectTable<api::Pod> pods_;
  Members members_;
  Shares shares_;
  std::unordered_map<std::string, NodeLoad> loads_;  // by Node, of pods that ask for something
  ColumnAmounts scratch_;
  std::vector<Sum> held_;            // by HostId
  std::vector<Sum> held_resources_;  // by HostId and column
};

}  // namespace yardmaster::state
