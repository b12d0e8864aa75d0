#include "pkg/placement/solver/host_fill.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace yardmaster::placement {

namespace {

using fabric::HostId;

using HostRange = fabric::IdRange<HostId>;

// The hosts of one place by how many workers they still take; the tightest that takes enough
// comes first.
class FreeHosts {
 public:
  FreeHosts(const Cluster& cluster, const Capacity& capacity, const HostRange& hosts)
      : cluster_(cluster) {
    for (HostId id : hosts) {
      Add(capacity.of_host[id.index()], id);
    }
  }

  // Invalid if none is wide enough.
  HostId Take(int workers) {
    const auto at = hosts_.lower_bound(Entry{workers, 0, 0, HostId()});
    if (at == hosts_.end()) return HostId();
    const auto [workers_free, free_gpus, degraded, id] = *at;
    hosts_.erase(at);
    Add(workers_free - workers, id);
    return id;
  }
  int widest() const { return hosts_.empty() ? 0 : std::get<0>(*hosts_.rbegin()); }

 private:
  using Entry = std::tuple<int, int, int, HostId>;

  void Add(int workers_free, HostId id) {
    if (workers_free <= 0) return;
    const HostState& host = cluster_.hosts[id.index()];
    hosts_.insert({workers_free, host.free_gpus, host.degraded, id});
  }

  const Cluster& cluster_;
  std::set<Entry> hosts_;
};

using Bundle = std::vector<int>;

// The workers of one place by the class they are in, in order of their lowest worker.
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
  SegmentFill(const GangModel& model, FreeHosts hosts, std::vector<HostId>& host_of)
      : model_(model), hosts_(std::move(hosts)), host_of_(host_of) {}

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
             static_cast<int>(together.size() + parts[i].size()) <= hosts_.widest()) {
        together.insert(together.end(), parts[i].begin(), parts[i].end());
        ++i;
      }
      if (!PlaceTogether(together)) return false;
    }
    return true;
  }

  bool PlaceTogether(const Bundle& bundle) {
    const HostId host = hosts_.Take(static_cast<int>(bundle.size()));
    if (!host.valid()) return false;
    for (int worker : bundle) host_of_[worker] = host;
    return true;
  }

  const GangModel& model_;
  FreeHosts hosts_;
  std::vector<HostId>& host_of_;
};

// Host sets of workers that may use different hosts, the largest first: each takes the tightest
// host that it may use, and one of those before it moves on where none is left. Sets of one kind
// have the same classes and size. Finds hosts for sets of one size whenever there are some.
class ClassFill {
 public:
  ClassFill(const Cluster& cluster, const Capacity& capacity, const HostRange& hosts,
            std::vector<Bundle> host_sets)
      : host_sets_(std::move(host_sets)) {
    std::stable_sort(host_sets_.begin(), host_sets_.end(),
                     [](const Bundle& a, const Bundle& b) { return a.size() > b.size(); });
    std::map<std::pair<std::uint32_t, int>, int> numbers;
    for (const Bundle& set : host_sets_) {
      std::uint32_t classes = 0;
      for (const int worker : set) {
        classes |= std::uint32_t{1} << capacity.classes.class_of_worker[worker];
      }
      const std::pair key{classes, static_cast<int>(set.size())};
      const auto [at, is_new] = numbers.emplace(key, static_cast<int>(kinds_.size()));
      if (is_new) kinds_.push_back({classes, key.second});
      kind_of_.push_back(at->second);
    }
    for (HostId id : hosts) {
      const int workers_free = capacity.of_host[id.index()];
      if (workers_free > 0)
        hosts_.push_back({id, capacity.classes.of_host[id.index()], workers_free, false, {}});
    }
    std::sort(hosts_.begin(), hosts_.end(), [&](const Host& a, const Host& b) {
      const auto key = [&](const Host& host) {
        const HostState& state = cluster.hosts[host.id.index()];
        return std::tuple(host.workers_free, state.free_gpus, state.degraded, host.id);
      };
      return key(a) < key(b);
    });
  }

  bool Run(std::vector<HostId>& host_of) {
    for (std::size_t set = 0; set < host_sets_.size(); ++set) {
      tried_.assign(kinds_.size(), 0);
      if (!Place(static_cast<int>(set))) return false;
    }
    Write(host_of);
    return true;
  }

 private:
  struct Kind {
    std::uint32_t classes = 0;  // as bits
    int size = 0;
  };
  struct Host {
    HostId id;
    std::uint32_t classes = 0;  // that may use it, as bits
    int workers_free = 0;
    bool gives_one_up = false;  // one of its sets is being moved on
    std::vector<int> sets;
  };

  const Kind& KindOf(int set) const { return kinds_[kind_of_[set]]; }

  // A host that gives one of its sets up is neither filled nor asked again until that set has its
  // place, so it takes as many workers and has the same sets after the call. A kind that found no
  // place is not tried again: so there are at most as many calls within each other as there are
  // kinds.
  bool Place(int set) {
    const Kind& kind = KindOf(set);
    tried_[kind_of_[set]] = 1;
    for (Host& host : hosts_) {
      if (host.workers_free < kind.size || !MayUse(kind, host)) continue;
      host.workers_free -= kind.size;
      host.sets.push_back(set);
      return true;
    }
    return std::any_of(hosts_.begin(), hosts_.end(),
                       [&](Host& host) { return MayUse(kind, host) && Replace(host, set); });
  }

  static bool MayUse(const Kind& kind, const Host& host) {
    return !host.gives_one_up && (kind.classes & ~host.classes) == 0;
  }

  bool Replace(Host& host, int set) {
    host.gives_one_up = true;
    const auto gone = std::find_if(host.sets.begin(), host.sets.end(), [&](int other) {
      return tried_[kind_of_[other]] == 0 &&
             KindOf(other).size + host.workers_free >= KindOf(set).size && Place(other);
    });
    host.gives_one_up = false;
    if (gone == host.sets.end()) return false;
    host.workers_free += KindOf(*gone).size - KindOf(set).size;
    *gone = set;
    return true;
  }

  // Among sets of a kind ranks ascend with hosts.
  void Write(std::vector<HostId>& host_of) const {
    std::vector<std::pair<std::vector<int>, std::vector<HostId>>> of_kind(kinds_.size());
    for (const Host& host : hosts_) {
      for (const int set : host.sets) {
        auto& [sets, hosts] = of_kind[kind_of_[set]];
        sets.push_back(set);
        hosts.push_back(host.id);
      }
    }
    for (auto& [sets, hosts] : of_kind) {
      std::sort(sets.begin(), sets.end());
      std::sort(hosts.begin(), hosts.end());
      for (std::size_t i = 0; i < sets.size(); ++i) {
        for (const int worker : host_sets_[sets[i]]) host_of[worker] = hosts[i];
      }
    }
  }

  std::vector<Bundle> host_sets_;  // largest first
  std::vector<Kind> kinds_;
  std::vector<int> kind_of_;         // by host set
  std::vector<Host> hosts_;          // tightest first
  std::vector<std::uint8_t> tried_;  // by kind, for the set that is being placed
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
                              const GangModel& model, const std::vector<int>& place_of_worker) {
  const fabric::Places& places = *cluster.places;
  const int num_places = model.has_domains ? places.num_domains() : places.num_segments();
  std::vector<std::vector<int>> workers(static_cast<std::size_t>(num_places));
  for (int w = 0; w < model.workers; ++w) workers[place_of_worker[w]].push_back(w);
  std::vector<HostId> host_of(static_cast<std::size_t>(model.workers));
  for (std::size_t s = 0; s < workers.size(); ++s) {
    if (workers[s].empty()) continue;
    const auto number = static_cast<std::int32_t>(s);
    const HostRange range = model.has_domains ? places.hosts_of(fabric::DomainId(number))
                                              : places.hosts_of(fabric::SegmentId(number));
    if (capacity.classes.any()) {
      ClassFill fill(cluster, capacity, range, BundlesOf(workers[s], model.host_sets.of));
      if (!fill.Run(host_of)) return {};
      continue;
    }
    FreeHosts hosts(cluster, capacity, range);
    if (!SegmentFill(model, std::move(hosts), host_of).Run(workers[s])) return {};
    SortWholeHosts(workers[s], host_of);
  }
  return host_of;
}

}  // namespace yardmaster::placement
