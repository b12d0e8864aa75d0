// The hosts of a gang while ReplaceHosts (replacement.h) searches for new ones: which host each
// rank has, which one a lost rank had, and which hosts took lost ranks so far.
//
// A host takes ranks only if it is available, the request allows it, no other job reserved it, no
// rank was lost from it, and the ranks fit beside those that it took here. An Assignment is a
// value: the caller copies it before a trial and restores it afterwards.
//
// Complexity: Find is O(hosts * (lost ranks + ranks of a host)); for a gang of unlike workers it
// copies the cluster for each host that already took ranks. Determinism: equal hosts go by id.
// Thread safety: none. Lifetimes: cluster and request outlive the object.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "pkg/fabric/places.h"
#include "pkg/placement/cluster.h"
#include "pkg/placement/gang_request.h"
#include "pkg/placement/worker_need.h"

namespace yardmaster::placement {

using Ranks = std::vector<int>;
using HostRange = fabric::IdRange<fabric::HostId>;

class ReplacementHosts {
 public:
  struct Assignment {
    std::vector<fabric::HostId> host_of;    // by rank
    std::map<fabric::HostId, Ranks> taken;  // ranks that a host took here
  };

  ReplacementHosts(const Cluster& cluster, const GangRequest& request,
                   std::vector<fabric::HostId> host_of_rank)
      : cluster_(cluster),
        request_(request),
        needs_(cluster, *request.job),
        now_{std::move(host_of_rank), {}} {}

  const Assignment& now() const { return now_; }
  void Restore(Assignment assignment) { now_ = std::move(assignment); }
  fabric::HostId of(int rank) const { return now_.host_of[static_cast<std::size_t>(rank)]; }
  bool IsKnown(fabric::HostId host) const {
    return host.value >= 0 && host.value < cluster_.places->num_hosts();
  }

  void Lose(int rank) { old_[rank] = of(rank); }
  // The host of a lost rank is not among the places any more: the rank is treated as if it had been
  // on `near`, which is not lost by that.
  void Presume(int rank, fabric::HostId near);
  bool IsLost(int rank) const { return old_.count(rank) > 0; }
  bool AllLost(const Ranks& ranks) const;
  Ranks lost() const;
  // REQUIRES: the rank is lost.
  fabric::HostId old(int rank) const { return old_.at(rank); }
  bool IsGone(int rank) const { return gone_.count(rank) > 0; }
  bool any_gone() const { return !gone_.empty(); }

  // The healthiest host with the fewest free GPUs that takes all the ranks; invalid: there is none.
  fabric::HostId Find(const HostRange& hosts, bool backup, const Ranks& ranks) const;
  void Give(const Ranks& ranks, fabric::HostId host);
  // Lost ranks have their old hosts again.
  void TakeBack(const Ranks& ranks);

 private:
  bool Takes(fabric::HostId id, bool backup, const Ranks& ranks) const;
  // Of the host before the ranks come; nullopt: they do not fit.
  std::optional<int> FreeGpusFor(fabric::HostId id, const Ranks& ranks) const;

  const Cluster& cluster_;
  const GangRequest& request_;
  const NeedsByRank needs_;
  Assignment now_;
  std::map<int, fabric::HostId> old_;  // by lost rank
  std::set<int> gone_;
};

}  // namespace yardmaster::placement
