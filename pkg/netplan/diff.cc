#include "pkg/netplan/diff.h"

#include <map>
#include <tuple>

#include "pkg/base/strings.h"

namespace yardmaster::netplan {

namespace {

// A plan with every id replaced by a name.
struct Named {
  std::map<std::pair<NamespacedName, int>, std::string> hosts;
  std::map<NamespacedName, int> levels;
  std::map<std::tuple<NamespacedName, std::string, std::string>, std::uint16_t> ports;
};

std::string NameOf(const fabric::Places& places, const fabric::NicPort& port) {
  return StrCat(places.name(port.host), "/", port.rail, "/", port.port);
}

Named NamesOf(const Planned& planned) {
  const plan::Snapshot& snapshot = planned.snapshot;
  Named named;
  for (const plan::JobPlan& job : planned.placement.jobs) {
    const NamespacedName& key = snapshot.jobs[job.job.index()].job.key;
    for (std::size_t rank = 0; rank < job.gang.host_of_rank.size(); ++rank) {
      const fabric::HostId host = job.gang.host_of_rank[rank];
      if (host.valid()) named.hosts[{key, static_cast<int>(rank)}] = snapshot.places->name(host);
    }
  }
  for (std::size_t j = 0; j < planned.network.jobs.size(); ++j) {
    const auto& network = planned.network.jobs[j];
    if (network) named.levels[snapshot.jobs[j].job.key] = network->level;
  }
  for (const PathAssignment& path : planned.network.paths) {
    if (path.source_port == 0) continue;  // no port is planned
    const NamespacedName& key = snapshot.jobs[path.job.index()].job.key;
    named.ports[{key, NameOf(*snapshot.places, path.src), NameOf(*snapshot.places, path.dst)}] =
        path.source_port;
  }
  return named;
}

// Calls visit(key, old, new) for every key whose value differs; null where a side has none.
template <typename Map, typename Visit>
void ForEachChange(const Map& before, const Map& after, Visit visit) {
  auto b = before.begin();
  auto a = after.begin();
  while (b != before.end() || a != after.end()) {
    if (a == after.end() || (b != before.end() && b->first < a->first)) {
      visit(b->first, &b->second, nullptr);
      ++b;
    } else if (b == before.end() || a->first < b->first) {
      visit(a->first, nullptr, &a->second);
      ++a;
    } else {
      if (b->second != a->second) visit(b->first, &b->second, &a->second);
      ++b;
      ++a;
    }
  }
}

}  // namespace

PlanDiff Diff(const Planned& before, const Planned& after) {
  const Named old_names = NamesOf(before);
  const Named new_names = NamesOf(after);
  PlanDiff diff;
  ForEachChange(old_names.hosts, new_names.hosts,
                [&](const auto& key, const std::string* from, const std::string* to) {
                  diff.moved.push_back({key.first, key.second, from ? *from : "", to ? *to : ""});
                });
  ForEachChange(old_names.levels, new_names.levels,
                [&](const NamespacedName& key, const int* from, const int* to) {
                  diff.levels.push_back({key, from ? std::optional(*from) : std::nullopt,
                                         to ? std::optional(*to) : std::nullopt});
                });
  ForEachChange(old_names.ports, new_names.ports,
                [&](const auto& key, const std::uint16_t* from, const std::uint16_t* to) {
                  const auto& [job, source, target] = key;
                  diff.ports.push_back({job, source, target, from ? *from : std::uint16_t{0},
                                        to ? *to : std::uint16_t{0}});
                });
  return diff;
}

}  // namespace yardmaster::netplan
