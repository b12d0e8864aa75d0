#include "pkg/placement/testing/exhaustive.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "pkg/base/strings.h"

namespace yardmaster::placement {

namespace {

using workload::Enforcement;
using workload::GroupPolicy;
using workload::TopologyLevel;

// One family of groups as sets of workers with their multiplicity, found GPU by GPU.
struct Family {
  std::map<std::vector<int>, std::int64_t> groups;
  GroupPolicy policy;
  int kind = 0;  // 0 tensor, 1 data, 2 pipeline
};

Family FamilyOf(const workload::Job& job, const std::string& varying, GroupPolicy policy,
                int kind) {
  const workload::Parallelism& p = job.parallelism;
  const int sizes[] = {p.tensor, p.context, p.expert, p.data / p.expert, p.pipeline};
  std::map<std::vector<int>, std::set<int>> by_key;
  for (std::int64_t gpu = 0; gpu < p.world(); ++gpu) {
    std::int64_t rest = gpu;
    int at[5] = {};
    for (workload::Axis axis : p.order) {
      const int a = static_cast<int>(axis);
      at[a] = static_cast<int>(rest % sizes[a]);
      rest /= sizes[a];
    }
    std::vector<int> key;
    for (int a = 0; a < 5; ++a) {
      if (varying.find("tcedp"[a]) == std::string::npos) key.push_back(at[a]);
    }
    by_key[key].insert(static_cast<int>(gpu / job.gpus_per_worker));
  }
  Family family{{}, policy, kind};
  for (const auto& [key, workers] : by_key) {
    ++family.groups[std::vector<int>(workers.begin(), workers.end())];
  }
  return family;
}

std::vector<Family> FamiliesOf(const workload::Job& job) {
  const workload::PlacementPolicy& p = job.placement;
  return {FamilyOf(job, "t", p.tensor, 0), FamilyOf(job, "c", p.context, 0),
          FamilyOf(job, "e", p.expert, 0), FamilyOf(job, "ced", p.data, 1),
          FamilyOf(job, "p", p.pipeline, 2)};
}

int PlaceOf(const fabric::Places& places, fabric::HostId host, TopologyLevel level) {
  switch (level) {
    case TopologyLevel::kHost:
      return host.value;
    case TopologyLevel::kDomain:
      return places.has_domains() ? places.domain_of(host).value : host.value;
    case TopologyLevel::kSegment:
      return places.segment_of(host).value;
    case TopologyLevel::kFabricPod:
      return places.fabric_pod_of(host).value;
    case TopologyLevel::kFabric:
      return 0;
  }
  return 0;
}

int Spread(const fabric::Places& places, const std::vector<int>& workers,
           const std::vector<fabric::HostId>& host_of, TopologyLevel level) {
  std::vector<int> seen;
  for (int w : workers) {
    const int place = PlaceOf(places, host_of[static_cast<std::size_t>(w)], level);
    if (std::find(seen.begin(), seen.end(), place) == seen.end()) seen.push_back(place);
  }
  return static_cast<int>(seen.size());
}

Objective Score(const fabric::Places& places, const std::vector<Family>& families,
                const std::vector<fabric::HostId>& host_of) {
  Objective o;
  for (const Family& family : families) {
    if (family.kind == 2) continue;
    for (const auto& [workers, count] : family.groups) {
      const std::int64_t segments =
          (Spread(places, workers, host_of, TopologyLevel::kSegment) - 1) * count;
      const std::int64_t pods =
          (Spread(places, workers, host_of, TopologyLevel::kFabricPod) - 1) * count;
      if (family.kind == 0 && places.has_domains()) {
        o.tensor_split_domains +=
            (Spread(places, workers, host_of, TopologyLevel::kDomain) - 1) * count;
      }
      (family.kind == 0 ? o.tensor_split_segments : o.data_split_segments) += segments;
      (family.kind == 0 ? o.tensor_split_fabric_pods : o.data_split_fabric_pods) += pods;
    }
  }
  std::vector<int> all;
  for (std::size_t w = 0; w < host_of.size(); ++w) all.push_back(static_cast<int>(w));
  if (places.has_domains()) o.domains = Spread(places, all, host_of, TopologyLevel::kDomain);
  o.segments = Spread(places, all, host_of, TopologyLevel::kSegment);
  o.fabric_pods = Spread(places, all, host_of, TopologyLevel::kFabricPod);
  return o;
}

bool StagesFit(const Case& c, const std::vector<fabric::HostId>& host_of) {
  const int limit = c.job.placement.max_stages_per_segment;
  if (limit == 0) return true;
  const workload::RankLayout layout(c.job.parallelism);
  std::map<int, std::set<int>> stages;
  for (std::int64_t gpu = 0; gpu < c.job.parallelism.world(); ++gpu) {
    const auto host = host_of[static_cast<std::size_t>(gpu / c.job.gpus_per_worker)];
    stages[c.cluster.places->segment_of(host).value].insert(layout.At(gpu).pipeline);
  }
  return std::all_of(stages.begin(), stages.end(), [&](const auto& entry) {
    return static_cast<int>(entry.second.size()) <= limit;
  });
}

// Every domain that is used holds the next ranks, as many as the unit says.
bool UnitsHold(const Case& c, const std::vector<fabric::HostId>& host_of) {
  const fabric::Places& places = *c.cluster.places;
  if (c.job.placement.domain_unit == 0 || !places.has_domains()) return true;
  const int length = c.job.placement.domain_unit * std::max(1, 8 / c.job.gpus_per_worker);
  std::map<int, std::set<int>> units_in;
  std::map<int, std::set<int>> domains_of;
  for (int rank = 0; rank < static_cast<int>(host_of.size()); ++rank) {
    const int domain = places.domain_of(host_of[static_cast<std::size_t>(rank)]).value;
    units_in[domain].insert(rank / length);
    domains_of[rank / length].insert(domain);
  }
  const auto one = [](const auto& entry) { return entry.second.size() == 1; };
  return std::all_of(units_in.begin(), units_in.end(), one) &&
         std::all_of(domains_of.begin(), domains_of.end(), one);
}

bool GroupLimitsHold(const fabric::Places& places, const std::vector<Family>& families,
                     const std::vector<fabric::HostId>& host_of) {
  for (const Family& family : families) {
    if (family.policy.mode != Enforcement::kRequired) continue;
    for (const auto& [workers, count] : family.groups) {
      if (Spread(places, workers, host_of, family.policy.within) > 1) return false;
    }
  }
  return true;
}

bool LimitsHold(const Case& c, const std::vector<Family>& families,
                const std::vector<fabric::HostId>& host_of) {
  return GroupLimitsHold(*c.cluster.places, families, host_of) && StagesFit(c, host_of) &&
         UnitsHold(c, host_of);
}

bool AnyWithinHost(const Case& c, const std::vector<Family>& families) {
  return std::any_of(families.begin(), families.end(), [&](const Family& f) {
    return f.policy.mode == Enforcement::kRequired &&
           (f.policy.within == TopologyLevel::kHost ||
            (f.policy.within == TopologyLevel::kDomain && !c.cluster.places->has_domains()));
  });
}

// Hosts that stand for places: each for itself where limits inside hosts tell them apart, else one
// for the sum of its domain or segment.
std::vector<std::pair<fabric::HostId, int>> Candidates(const Case& c, bool by_host) {
  const fabric::Places& places = *c.cluster.places;
  std::vector<std::pair<fabric::HostId, int>> out;
  const auto add_sum = [&](const auto& hosts) {
    int sum = 0;
    for (fabric::HostId h : hosts) sum += RoomOf(c, h);
    if (sum > 0) out.push_back({hosts[0], sum});
  };
  for (fabric::SegmentId s : places.segments()) {
    if (!by_host && !places.has_domains()) add_sum(places.hosts_of(s));
    if (!by_host && places.has_domains()) {
      for (fabric::DomainId d : places.domains_of(s)) add_sum(places.hosts_of(d));
    }
    if (!by_host) continue;
    for (fabric::HostId h : places.hosts_of(s)) {
      if (RoomOf(c, h) > 0) out.push_back({h, RoomOf(c, h)});
    }
  }
  return out;
}
}  // namespace

std::optional<Objective> BruteForce(const Case& c) {
  const std::vector<Family> families = FamiliesOf(c.job);
  std::vector<std::pair<fabric::HostId, int>> hosts = Candidates(c, AnyWithinHost(c, families));
  std::optional<Objective> best;
  std::vector<fabric::HostId> host_of;
  std::function<void()> descend = [&] {
    if (static_cast<int>(host_of.size()) == c.job.workers) {
      const Objective o = Score(*c.cluster.places, families, host_of);
      if ((!best || o < *best) && LimitsHold(c, families, host_of)) best = o;
      return;
    }
    for (auto& [host, left] : hosts) {
      if (left == 0) continue;
      --left;
      host_of.push_back(host);
      descend();
      host_of.pop_back();
      ++left;
    }
  };
  descend();
  return best;
}

std::optional<Objective> FindBetter(const Case& c, const std::optional<Objective>& than) {
  const std::vector<Family> families = FamiliesOf(c.job);
  const bool by_host = AnyWithinHost(c, families);
  const fabric::Places& places = *c.cluster.places;
  struct Place {
    fabric::HostId host;
    int capacity;
    int used;
  };
  std::vector<Place> candidates;
  for (const auto& [host, room] : Candidates(c, by_host)) candidates.push_back({host, room, 0});
  // The groups cut down to the workers that are placed: no limit is met again and no cost shrinks
  // when more are placed.
  std::vector<std::vector<Family>> placed(static_cast<std::size_t>(c.job.workers) + 1);
  for (int count = 0; count <= c.job.workers; ++count) {
    for (const Family& family : families) {
      Family part{{}, family.policy, family.kind};
      for (const auto& [workers, times] : family.groups) {
        std::vector<int> there;
        for (int w : workers) {
          if (w < count) there.push_back(w);
        }
        if (there.size() > 1) part.groups[there] += times;
      }
      placed[static_cast<std::size_t>(count)].push_back(std::move(part));
    }
  }
  std::vector<fabric::HostId> host_of;
  std::optional<Objective> found;
  std::function<void()> descend = [&] {
    const std::vector<Family>& now = placed[host_of.size()];
    if (!GroupLimitsHold(places, now, host_of)) return;
    const Objective o = Score(places, now, host_of);
    if (than && !(o < *than)) return;
    if (static_cast<int>(host_of.size()) == c.job.workers) {
      if (StagesFit(c, host_of) && UnitsHold(c, host_of)) found = o;
      return;
    }
    for (std::size_t i = 0; i < candidates.size() && !found; ++i) {
      if (candidates[i].used == candidates[i].capacity) continue;
      // Of equal hosts of a segment (or segments of a fabric pod) that hold no worker, the first
      // stands for all.
      const auto alike = [&](const Place& other) {
        const fabric::HostId a = other.host, b = candidates[i].host;
        if (other.used > 0 || other.capacity != candidates[i].capacity) return false;
        if (by_host && places.has_domains()) return places.domain_of(a) == places.domain_of(b);
        return by_host || places.has_domains() ? places.segment_of(a) == places.segment_of(b)
                                               : places.fabric_pod_of(a) == places.fabric_pod_of(b);
      };
      if (candidates[i].used == 0 &&
          std::any_of(candidates.begin(), candidates.begin() + static_cast<int>(i), alike)) {
        continue;
      }
      ++candidates[i].used;
      host_of.push_back(candidates[i].host);
      descend();
      host_of.pop_back();
      --candidates[i].used;
    }
  };
  descend();
  return found;
}

std::optional<Objective> LeastObjective(
    const Case& c, const std::function<bool(const std::vector<fabric::HostId>&)>& holds) {
  std::optional<Objective> best;
  std::vector<fabric::HostId> hosts;
  const std::function<void()> search = [&] {
    if (!holds(hosts)) return;
    if (hosts.size() == static_cast<std::size_t>(c.job.workers)) {
      const Objective objective = Evaluate(*c.cluster.places, c.groups, hosts);
      if (!best || objective < *best) best = objective;
      return;
    }
    for (fabric::HostId host : c.cluster.places->hosts()) {
      hosts.push_back(host);
      search();
      hosts.pop_back();
    }
  };
  search();
  return best;
}

std::string Faults(const Case& c, const std::vector<fabric::HostId>& host_of_rank) {
  if (static_cast<int>(host_of_rank.size()) != c.job.workers) return "not every rank has a host";
  std::map<fabric::HostId, int> given;
  for (fabric::HostId host : host_of_rank) ++given[host];
  for (const auto& [host, workers] : given) {
    if (workers > RoomOf(c, host)) return StrCat("host ", host.value, " holds too many workers");
  }
  return LimitsHold(c, FamiliesOf(c.job), host_of_rank) ? "" : "a required limit is broken";
}
}  // namespace yardmaster::placement
