// Who holds how many GPUs of which host, kept from one World to the next. See snapshot_builder.h
// for the rules.
//
// A pod that changed costs a count of its gang; a pod of no gang costs itself. Thread safety: one
// thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "pkg/state/job_index.h"

namespace yardmaster::state {

class Occupation {
 public:
  // `changed`: jobs that were read again or are gone. Also sets where jobs without a Gang stand by
  // their pods, and adds jobs that were counted anew to `changed`.
  void Update(const ObjectTable<api::Pod>& pods, const HostIndex& hosts, const HostChanges& changes,
              JobIndex& jobs, std::set<workload::JobKey>& changed);
  // GPUs held or promised, by HostId.
  const std::vector<std::int64_t>& held() const { return held_; }

 private:
  // A bound, unfinished pod with GPUs.
  struct BoundPod {
    std::shared_ptr<const api::Pod> pod;
    fabric::HostId host;  // invalid: not of the fabric
    std::optional<workload::JobKey> gang;
    std::optional<int> rank;  // nothing: only the gang's rank bases can say
    std::optional<api::Membership> membership;
  };
  // What a gang and its pods hold together.
  struct Share {
    std::map<std::string, BoundPod> pods;  // by name
    std::vector<std::pair<fabric::HostId, std::int64_t>> held;
  };

  static BoundPod Read(std::shared_ptr<const api::Pod> pod);
  void Add(BoundPod pod, const fabric::Places& places, std::set<workload::JobKey>& changed);
  void Remove(const api::Pod& pod, std::set<workload::JobKey>& changed);
  void Renumber(const fabric::Places& places, const HostChanges& changes);
  void Count(const workload::JobKey& key, KeptJob* job);
  static std::optional<int> RankOf(const BoundPod& pod, const KeptJob& job);
  static bool OnItsSlot(const BoundPod& pod, const KeptJob* job);
  static std::optional<plan::Assignment> PlaceByPods(const Share& share, const KeptJob& job);
  void Hold(fabric::HostId host, std::int64_t gpus, Share& share);

  ObjectTable<api::Pod> pods_;
  std::unordered_map<const api::Pod*, workload::JobKey> gang_of_pod_;
  std::map<workload::JobKey, Share> shares_;
  std::unordered_map<const api::Pod*, BoundPod> loose_;  // of no gang
  std::vector<std::int64_t> held_;                       // by HostId
};

}  // namespace yardmaster::state
