#include "pkg/repac/wiring.h"

#include <algorithm>
#include <map>
#include <set>

#include "pkg/base/strings.h"

namespace yardmaster::repac {

namespace {

using fabric::CableId;
using fabric::Network;

// The blueprint by name.
struct Blueprint {
  std::vector<std::string> lower;  // by cable
  std::vector<std::string> upper;
  std::map<std::string, int> by_lower;
  std::map<std::string, int> by_upper;
};

Blueprint BlueprintOf(const Network& network) {
  Blueprint blueprint;
  blueprint.upper = UpperEnds(network);
  for (int c = 0; c < network.num_cables(); ++c) {
    blueprint.lower.push_back(network.name(CableId(c)));
    blueprint.by_lower.emplace(blueprint.lower.back(), c);
    blueprint.by_upper.emplace(blueprint.upper[static_cast<std::size_t>(c)], c);
  }
  return blueprint;
}

// What is plugged into what: per cable (as the owner of its lower end) the name found at the other
// end.
class Collector {
 public:
  Collector(const Blueprint& blueprint, const fabric::FabricSpec& spec) : blueprint_(blueprint) {
    for (const auto& [own, shown] : spec.switch_names) own_names_.emplace(shown, own);
  }

  void Add(const Neighbour& neighbour) {
    if (neighbour.remote.empty()) return;
    const std::string near = OwnName(neighbour.local);
    const std::string far = OwnName(neighbour.remote);
    const auto local = blueprint_.by_lower.find(near);
    if (local != blueprint_.by_lower.end()) {
      Put(local->second, far);
      return;
    }
    if (blueprint_.by_upper.count(near) == 0) {
      unknown_.insert(neighbour.local);
      return;
    }
    const auto remote = blueprint_.by_lower.find(far);
    if (remote != blueprint_.by_lower.end()) {
      Put(remote->second, near);
    } else {
      unknown_.insert(neighbour.remote);
    }
  }

  const std::map<int, std::string>& found() const { return found_; }
  const std::set<std::string>& unknown() const { return unknown_; }
  const std::set<std::string>& contradictions() const { return contradictions_; }

 private:
  void Put(int cable, const std::string& end) {
    const auto [at, fresh] = found_.emplace(cable, end);
    if (!fresh && at->second != end) {
      contradictions_.insert(blueprint_.lower[static_cast<std::size_t>(cable)]);
    }
  }

  // As fabric::OwnName, for many ports.
  std::string OwnName(const std::string& port) const {
    const std::size_t end = std::min(port.size(), port.find(':'));
    if (port.compare(end, 2, ":r") == 0) return port;
    const auto own = own_names_.find(port.substr(0, end));
    return own == own_names_.end() ? port : StrCat(own->second, port.substr(end));
  }

  const Blueprint& blueprint_;
  std::map<std::string, std::string> own_names_;  // of switches, as they are shown
  std::map<int, std::string> found_;
  std::set<std::string> unknown_;
  std::set<std::string> contradictions_;
};

// For faulty cables: whose place the plug sits in. Ends that are not the upper end of any cable are
// left out.
std::map<int, int> Misplaced(const Blueprint& blueprint, const std::map<int, std::string>& found) {
  std::map<int, int> sits_in;
  for (const auto& [cable, end] : found) {
    if (end == blueprint.upper[static_cast<std::size_t>(cable)]) continue;
    const auto owner = blueprint.by_upper.find(end);
    if (owner != blueprint.by_upper.end()) sits_in.emplace(cable, owner->second);
  }
  return sits_in;
}

// The cycle that `start` is in, beginning with it; empty if the chain does not close.
std::vector<int> CycleFrom(int start, const std::map<int, int>& sits_in) {
  std::vector<int> cycle = {start};
  std::set<int> seen = {start};
  for (;;) {
    const auto next = sits_in.find(cycle.back());
    if (next == sits_in.end()) return {};
    if (next->second == start) return cycle;
    if (!seen.insert(next->second).second) return {};
    cycle.push_back(next->second);
  }
}

void Explain(const Blueprint& blueprint, const std::map<int, std::string>& found,
             WiringReport& report) {
  const std::map<int, int> sits_in = Misplaced(blueprint, found);
  std::set<int> done;
  const auto lower = [&](int cable) { return blueprint.lower[static_cast<std::size_t>(cable)]; };
  for (const auto& [cable, end] : found) {
    if (end == blueprint.upper[static_cast<std::size_t>(cable)] || done.count(cable) != 0) continue;
    const std::vector<int> cycle = CycleFrom(cable, sits_in);
    if (cycle.empty()) {
      report.unexplained.push_back(lower(cable));
      continue;
    }
    done.insert(cycle.begin(), cycle.end());
    // The first plug sits where the second belongs: exchanging them sends the second home and puts
    // the first where the third belongs, and so on.
    for (std::size_t i = 1; i < cycle.size(); ++i) {
      report.swaps.push_back({lower(cycle[0]), lower(cycle[i])});
    }
  }
}

}  // namespace

std::vector<std::string> UpperEnds(const Network& network) {
  std::vector<std::string> ends;
  std::vector<int> next(static_cast<std::size_t>(network.num_switches()), 1);
  std::vector<std::string> names;
  for (int s = 0; s < network.num_switches(); ++s)
    names.push_back(network.name(fabric::SwitchId(s)));
  for (int c = 0; c < network.num_cables(); ++c) {
    const fabric::SwitchId upper = network.far_end(Network::up(CableId(c)));
    ends.push_back(StrCat(names[upper.index()], ":d", next[upper.index()]++));
  }
  return ends;
}

WiringReport CheckWiring(const Network& network, const std::vector<Neighbour>& neighbours) {
  const Blueprint blueprint = BlueprintOf(network);
  Collector collector(blueprint, network.spec());
  for (const Neighbour& neighbour : neighbours) collector.Add(neighbour);
  WiringReport report;
  report.checked = static_cast<int>(collector.found().size());
  for (const auto& [cable, end] : collector.found()) {
    const auto at = static_cast<std::size_t>(cable);
    if (end == blueprint.upper[at]) continue;
    report.faults.push_back({blueprint.lower[at], blueprint.upper[at], end});
    const CableId id(cable);
    if (network.is_host_cable(id)) {
      report.nic_ports.push_back(network.nic_port_of(id));
    } else {
      report.cables.push_back(id);
    }
  }
  Explain(blueprint, collector.found(), report);
  report.unknown_ports.assign(collector.unknown().begin(), collector.unknown().end());
  report.contradictions.assign(collector.contradictions().begin(),
                               collector.contradictions().end());
  return report;
}

}  // namespace yardmaster::repac
