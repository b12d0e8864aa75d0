#include "pkg/placement/solver/host_fill.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace yardmaster::placement {

namespace {

using fabric::HostId;

// The hosts of one segment by room that is left; the tightest that is wide enough comes first.
class Rooms {
 public:
  Rooms(const Cluster& cluster, const Capacity& capacity, fabric::SegmentId segment)
      : cluster_(cluster) {
    for (HostId id : cluster.places->hosts_of(segment)) {
      Add(capacity.of_host[id.index()], id);
    }
  }

  // Invalid if none is wide enough.
  HostId Take(int workers) {
    const auto at = hosts_.lower_bound(Entry{workers, 0, false, HostId()});
    if (at == hosts_.end()) return HostId();
    const auto [room, free_gpus, degraded, id] = *at;
    hosts_.erase(at);
    Add(room - workers, id);
    return id;
  }
  int widest() const { return hosts_.empty() ? 0 : std::get<0>(*hosts_.rbegin()); }

 private:
  using Entry = std::tuple<int, int, bool, HostId>;

  void Add(int room, HostId id) {
    if (room <= 0) return;
    const HostState& host = cluster_.hosts[id.index()];
    hosts_.insert({room, host.free_gpus, host.degraded, id});
  }

  const Cluster& cluster_;
  std::set<Entry> hosts_;
};

using Bundle = std::vector<int>;

// The workers of one segment by the class they are in, in order of their lowest worker.
std::vector<Bundle> BundlesOf(const std::vector<int>& workers, const std::vector<int>& class_of) {
  std::vector<std::pair<int, int>> keyed;
  for (int worker : workers) keyed.push_back({class_of[worker], worker});
  std::sort(keyed.begin(), keyed.end());
  std::vector<Bundle> bundles;
  for (std::size_t i = 0; i < keyed.size(); ++i) {
    if (i == 0 || keyed[i].first != keyed[i - 1].first) bundles.emplace_back();
    bundles.back().push_back(keyed[i].second);
  }
  return bundles;
}

class SegmentFill {
 public:
  SegmentFill(const GangModel& model, Rooms rooms, std::vector<HostId>& host_of)
      : model_(model), rooms_(std::move(rooms)), host_of_(host_of) {}

  bool Run(const std::vector<int>& workers) {
    std::vector<Bundle> bundles = BundlesOf(workers, model_.units.of);
    std::stable_sort(bundles.begin(), bundles.end(),
                     [](const Bundle& a, const Bundle& b) { return a.size() > b.size(); });
    for (const Bundle& bundle : bundles) {
      if (!Place(bundle)) return false;
    }
    return true;
  }

 private:
  bool Place(const Bundle& bundle) {
    if (PlaceTogether(bundle)) return true;
    // A unit wider than any host: as many of its host sets as the widest host takes, again and
    // again.
    std::vector<Bundle> parts = BundlesOf(bundle, model_.host_sets.of);
    if (parts.size() == 1) return false;
    for (std::size_t i = 0; i < parts.size();) {
      Bundle together = parts[i++];
      while (i < parts.size() &&
             static_cast<int>(together.size() + parts[i].size()) <= rooms_.widest()) {
        together.insert(together.end(), parts[i].begin(), parts[i].end());
        ++i;
      }
      if (!PlaceTogether(together)) return false;
    }
    return true;
  }

  bool PlaceTogether(const Bundle& bundle) {
    const HostId host = rooms_.Take(static_cast<int>(bundle.size()));
    if (!host.valid()) return false;
    for (int worker : bundle) host_of_[worker] = host;
    return true;
  }

  const GangModel& model_;
  Rooms rooms_;
  std::vector<HostId>& host_of_;
};

// Host sets of workers that may use different hosts: the first takes the tightest host that it may
// use, and those before it move on where they can.
class ClassFill {
 public:
  ClassFill(const Cluster& cluster, const Capacity& capacity, fabric::SegmentId segment)
      : classes_(capacity.classes) {
    for (HostId id : cluster.places->hosts_of(segment)) {
      if (capacity.of_host[id.index()] > 0)
        hosts_.push_back({id, capacity.of_host[id.index()], {}});
    }
    std::sort(hosts_.begin(), hosts_.end(), [&](const Host& a, const Host& b) {
      const auto key = [&](const Host& host) {
        const HostState& state = cluster.hosts[host.id.index()];
        return std::tuple(host.room, state.free_gpus, state.degraded, host.id);
      };
      return key(a) < key(b);
    });
  }

  bool Run(const std::vector<Bundle>& host_sets, std::vector<HostId>& host_of) {
    host_sets_ = host_sets;
    for (std::size_t set = 0; set < host_sets_.size(); ++set) {
      tried_.assign(hosts_.size(), 0);
      if (!Place(static_cast<int>(set))) return false;
    }
    Write(host_of);
    return true;
  }

 private:
  struct Host {
    HostId id;
    int room = 0;
    std::vector<int> sets;
  };

  int SizeOf(int set) const { return static_cast<int>(host_sets_[set].size()); }

  // As bits.
  std::uint32_t ClassesOfSet(int set) const {
    std::uint32_t classes = 0;
    for (const int worker : host_sets_[set])
      classes |= std::uint32_t{1} << classes_.class_of_worker[worker];
    return classes;
  }

  bool MayUse(int set, HostId host) const {
    return (ClassesOfSet(set) & ~classes_.of_host[host.index()]) == 0;
  }

  bool Place(int set) {
    for (Host& host : hosts_) {
      if (host.room < SizeOf(set) || !MayUse(set, host.id)) continue;
      host.room -= SizeOf(set);
      host.sets.push_back(set);
      return true;
    }
    for (std::size_t h = 0; h < hosts_.size(); ++h) {
      if (tried_[h] != 0 || !MayUse(set, hosts_[h].id)) continue;
      tried_[h] = 1;
      for (int& other : hosts_[h].sets) {
        if (SizeOf(other) + hosts_[h].room < SizeOf(set) || !Place(other)) continue;
        hosts_[h].room += SizeOf(other) - SizeOf(set);
        other = set;
        return true;
      }
    }
    return false;
  }

  // Among sets of the same classes and size ranks ascend with hosts.
  void Write(std::vector<HostId>& host_of) const {
    std::map<std::pair<std::uint32_t, int>, std::pair<std::vector<int>, std::vector<HostId>>> alike;
    for (const Host& host : hosts_) {
      for (const int set : host.sets) {
        auto& [sets, hosts] = alike[{ClassesOfSet(set), SizeOf(set)}];
        sets.push_back(set);
        hosts.push_back(host.id);
      }
    }
    for (auto& [key, entry] : alike) {
      auto& [sets, hosts] = entry;
      std::sort(sets.begin(), sets.end());
      std::sort(hosts.begin(), hosts.end());
      for (std::size_t i = 0; i < sets.size(); ++i) {
        for (const int worker : host_sets_[sets[i]]) host_of[worker] = hosts[i];
      }
    }
  }

  const ClassRooms& classes_;
  std::vector<Host> hosts_;  // tightest first
  std::vector<Bundle> host_sets_;
  std::vector<std::uint8_t> tried_;  // by host
};

// Equal bundles of a segment are interchangeable: give ascending ranks ascending hosts.
void SortWholeHosts(const std::vector<int>& workers, std::vector<HostId>& host_of) {
  std::vector<HostId> hosts;
  for (int worker : workers) hosts.push_back(host_of[worker]);
  std::sort(hosts.begin(), hosts.end());
  if (std::adjacent_find(hosts.begin(), hosts.end()) != hosts.end()) return;
  for (std::size_t i = 0; i < workers.size(); ++i) host_of[workers[i]] = hosts[i];
}

}  // namespace

std::vector<HostId> FillHosts(const Cluster& cluster, const Capacity& capacity,
                              const GangModel& model, const std::vector<int>& segment_of_worker) {
  std::vector<std::vector<int>> workers(capacity.of_segment.size());
  for (int w = 0; w < model.workers; ++w) workers[segment_of_worker[w]].push_back(w);
  std::vector<HostId> host_of(static_cast<std::size_t>(model.workers));
  for (std::size_t s = 0; s < workers.size(); ++s) {
    if (workers[s].empty()) continue;
    const fabric::SegmentId segment(static_cast<std::int32_t>(s));
    if (capacity.classes.any()) {
      ClassFill fill(cluster, capacity, segment);
      if (!fill.Run(BundlesOf(workers[s], model.host_sets.of), host_of)) return {};
      continue;
    }
    Rooms rooms(cluster, capacity, segment);
    if (!SegmentFill(model, std::move(rooms), host_of).Run(workers[s])) return {};
    SortWholeHosts(workers[s], host_of);
  }
  return host_of;
}

}  // namespace yardmaster::placement
