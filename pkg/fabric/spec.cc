#include "pkg/fabric/spec.h"

#include <algorithm>
#include <cstdint>
#include <set>

#include "pkg/base/ip_address.h"
#include "pkg/base/strings.h"

namespace yardmaster::fabric {

namespace {

using Problem = std::vector<std::string>;

void Need(bool ok, Problem& out, const std::string& field, const std::string& problem,
          const std::string& fix) {
  if (!ok) out.push_back(StrCat(field, ": ", problem, "; ", fix));
}

int PlacesPerPlace(const FabricSpec& spec, Scope lower, Scope upper) {
  if (lower == upper) return 1;
  if (lower == Scope::kSegment && upper == Scope::kFabricPod) return spec.segments_per_fabric_pod;
  if (lower == Scope::kFabricPod) return spec.fabric_pods;
  return spec.segments_per_fabric_pod * spec.fabric_pods;
}

void CheckHosts(const FabricSpec& spec, Problem& out) {
  auto positive = [&](int value, const char* field) {
    Need(value >= 1 && value <= 1'000'000, out, StrCat("spec.", field), StrCat("is ", value),
         "give a number from 1 to 1000000");
  };
  positive(spec.gpus_per_host, "host.gpus");
  positive(spec.rails, "host.rails");
  positive(spec.planes, "planes");
  positive(spec.nic_ports, "host.nicPorts");
  positive(spec.nic_gbps, "host.nicGbps");
  positive(spec.fabric_pods, "size.fabricPods");
  positive(spec.segments_per_fabric_pod, "size.segmentsPerFabricPod");
  positive(spec.hosts_per_segment, "size.hostsPerSegment");
  if (!out.empty()) return;
  Need(spec.nic_ports % spec.planes == 0, out, "spec.planes",
       StrCat(spec.planes, " planes do not divide ", spec.nic_ports, " NIC ports"),
       "every plane needs the same number of ports of each NIC");
  Need(spec.gpus_per_host % spec.rails == 0, out, "spec.host.rails",
       StrCat(spec.rails, " rails do not divide ", spec.gpus_per_host, " GPUs"),
       "give every rail the same number of GPUs");
  Need(spec.backup.hosts_per_segment >= 0 && spec.backup.hosts_per_segment < spec.hosts_per_segment,
       out, "spec.backup.hostsPerSegment",
       StrCat(spec.backup.hosts_per_segment, " of ", spec.hosts_per_segment, " hosts"),
       "keep at least one ordinary host in a segment");
}

void CheckTier(const FabricSpec& spec, std::size_t t, Problem& out) {
  const Tier& tier = spec.tiers[t];
  const std::string at = StrCat("spec.tiers[", t, "]");
  Need(!tier.role.empty(), out, at + ".role", "is empty", "name the role, for example tor");
  for (auto [value, field] :
       {std::pair{tier.switches, "switches"}, std::pair{tier.stripes, "stripes"},
        std::pair{tier.down_ports, "downPorts"}, std::pair{tier.down_gbps, "downGbps"}}) {
    Need(value >= 1, out, StrCat(at, ".", field), StrCat("is ", value), "give a number above 0");
  }
  Need(tier.rails_per_switch >= 1 && spec.rails % std::max(1, tier.rails_per_switch) == 0, out,
       at + ".railsPerSwitch",
       StrCat(tier.rails_per_switch, " rails a switch do not divide ", spec.rails, " rails"),
       "give every switch the same number of rails");
  Need(tier.per_rail || tier.rails_per_switch == 1, out, at + ".railsPerSwitch",
       "needs perRail: without it one set of switches serves all rails", "set perRail: true");
  const bool top = t + 1 == spec.tiers.size();
  Need(top || (tier.up_ports >= 1 && tier.up_gbps >= 1), out, at + ".upPorts",
       "there is a tier above and no way up", "give upPorts and upGbps");
  Need(!top || tier.up_ports == 0, out, at + ".upPorts",
       StrCat(tier.up_ports, " in the highest tier"), "leave it out or add the tier above");
}

void CheckWiring(const FabricSpec& spec, std::size_t upper_index, Problem& out) {
  const Tier& lower = spec.tiers[upper_index - 1];
  const Tier& upper = spec.tiers[upper_index];
  const std::string at = StrCat("spec.tiers[", upper_index, "]");
  const std::string below = StrCat("spec.tiers[", upper_index - 1, "]");
  Need(upper.scope >= lower.scope, out, at + ".scope", "is narrower than the tier below",
       "tiers go from the hosts upwards: Segment, FabricPod, Fabric");
  Need(!upper.per_rail || lower.per_rail, out, at + ".perRail",
       "has switches per rail above a tier that mixes rails", "set perRail on the tier below, too");
  const int t = static_cast<int>(upper_index);
  Need(!lower.per_rail || RailsPerSwitch(spec, t) % lower.rails_per_switch == 0, out,
       at + ".railsPerSwitch",
       StrCat(RailsPerSwitch(spec, t), " rails are no multiple of the ",
              RailsPerSwitch(spec, t - 1), " of the tier below"),
       "all rails of a switch go to the same switches above");
  Need(!upper.per_plane || lower.per_plane, out, at + ".perPlane",
       "has switches per plane above a tier that mixes planes",
       "set perPlane on the tier below, too");
  Need(upper.switches % upper.stripes == 0, out, at + ".stripes",
       StrCat(upper.stripes, " stripes do not divide ", upper.switches, " switches"),
       "give every stripe the same number of switches");
  Need(lower.up_gbps == upper.down_gbps, out, at + ".downGbps",
       StrCat(upper.down_gbps, " Gb/s meets upGbps ", lower.up_gbps, " of the tier below"),
       "both ends of a cable have one speed");
  if (!out.empty()) return;
  const int per_stripe = upper.switches / upper.stripes;
  Need(lower.up_ports % per_stripe == 0, out, below + ".upPorts",
       StrCat(lower.up_ports, " up ports do not spread evenly over ", per_stripe, " ", upper.role,
              " switches"),
       StrCat("use a multiple of ", per_stripe, " or change ", at, ".switches or .stripes"));
  const int lower_per_place = LowerSwitchesPerPlace(spec, static_cast<int>(upper_index));
  Need(lower_per_place % upper.stripes == 0, out, at + ".stripes",
       StrCat(upper.stripes, " stripes do not divide the ", lower_per_place, " ", lower.role,
              " switches of a place below"),
       "give every stripe the same number of lower switches");
  if (!out.empty()) return;
  // The largest fields that there may be make 10^21 cables.
  const __int128 needed = __int128{PlacesPerPlace(spec, lower.scope, upper.scope)} *
                          (lower_per_place / upper.stripes) *
                          LinksPerPair(spec, static_cast<int>(upper_index));
  if (needed <= upper.down_ports) return;
  constexpr std::int64_t kMost = 1'000'000;  // ports that the field may say
  const std::string smaller = "build the fabric smaller (spec.size)";
  const bool possible = needed <= kMost;
  const auto shown = static_cast<std::int64_t>(possible ? needed : kMost);
  Need(false, out, at + ".downPorts",
       StrCat(upper.down_ports, " ports for ", possible ? "" : "more than ", shown, " cables from ",
              lower.role, " switches"),
       possible ? StrCat("give at least ", shown, " or ", smaller) : smaller);
}

void CheckHostPorts(const FabricSpec& spec, Problem& out) {
  const Tier& tor = spec.tiers[0];
  Need(tor.scope == Scope::kSegment, out, "spec.tiers[0].scope", "is not Segment",
       "the first tier is what the hosts of one segment share");
  const int planes = tor.per_plane ? spec.planes : 1;
  Need(tor.switches * planes == spec.nic_ports, out, "spec.tiers[0].switches",
       StrCat(tor.switches, " switches in each of ", planes, " planes for ", spec.nic_ports,
              " NIC ports"),
       "every port of a NIC goes to a switch of its own: switches = nicPorts / planes");
  Need(tor.down_gbps == spec.nic_gbps, out, "spec.tiers[0].downGbps",
       StrCat(tor.down_gbps, " Gb/s meets a NIC of ", spec.nic_gbps, " Gb/s"),
       "both ends of a cable have one speed");
  const long needed = 1L * spec.hosts_per_segment * RailsPerSwitch(spec, 0);
  Need(needed <= tor.down_ports, out, "spec.tiers[0].downPorts",
       StrCat(tor.down_ports, " ports for ", needed, " NIC ports of ", spec.hosts_per_segment,
              " hosts"),
       StrCat("give at least ", needed, " or fewer hosts in a segment"));
}

void CheckLevels(const FabricSpec& spec, Problem& out) {
  const NetworkLevels& levels = spec.levels;
  Need(levels.count >= 1 && levels.count <= 64, out, "spec.networkLevels.count",
       StrCat("is ", levels.count), "give a number from 1 to 64");
  std::set<int> reserved;
  for (int level : levels.reserved) {
    Need(level >= 0 && level < levels.count, out, "spec.networkLevels.reserved",
         StrCat("level ", level, " does not exist"), StrCat("levels are 0 to ", levels.count - 1));
    reserved.insert(level);
  }
  Need(static_cast<int>(reserved.size()) < levels.count, out, "spec.networkLevels.reserved",
       "leaves no level for jobs", "reserve fewer");
}

// Whether a switch of a tier of scope Fabric may have that name: "core-r2-p0-3" without the parts
// that the tier does not have.
bool IsOwnName(const Tier& tier, std::string_view name) {
  const auto skip = [&](std::string_view what) {
    if (name.substr(0, what.size()) != what) return false;
    name.remove_prefix(what.size());
    return true;
  };
  const auto skip_number = [&](std::string_view before) {
    if (!skip(before) || name.empty()) return false;
    const std::size_t end = std::min(name.size(), name.find_first_not_of("0123456789"));
    name.remove_prefix(end);
    return end > 0;
  };
  return tier.scope == Scope::kFabric && skip(tier.role) && (!tier.per_rail || skip_number("-r")) &&
         (!tier.per_plane || skip_number("-p")) && (tier.switches == 1 || skip_number("-")) &&
         name.empty();
}

// A name is a switch or a host, or begins with one and ':'; then ":r" makes it a host's NIC port.
std::size_t EndOfOwner(std::string_view name) { return std::min(name.size(), name.find(':')); }
bool IsNicPort(std::string_view name) { return name.substr(EndOfOwner(name), 2) == ":r"; }

// What a role's hash says about group members that no group of its switches has.
void CheckMembers(const HashSpec& hash, int ports, const std::string& field, Problem& out) {
  for (int member : hash.group.resilient_table) {
    if (member < ports) continue;
    Need(false, out, field + ".group.resilientTable",
         StrCat("names member ", member, " on switches of ", ports, " ports in one direction"),
         "count members from 0 in the order of the group");
    break;
  }
  Need(static_cast<int>(hash.group.weights.size()) <= ports, out, field + ".group.weights",
       StrCat("has ", hash.group.weights.size(), " entries for ", ports, " ports in one direction"),
       "give one weight for each member");
}

}  // namespace

int RailsPerSwitch(const FabricSpec& spec, int tier) {
  const Tier& of = spec.tiers[static_cast<std::size_t>(tier)];
  return of.per_rail ? of.rails_per_switch : spec.rails;
}

std::vector<SwitchNameProblem> SwitchNameProblems(const FabricSpec& spec) {
  const std::set<std::string_view> absent(spec.absent_switches.begin(), spec.absent_switches.end());
  std::map<std::string_view, std::string_view> seen;  // own, by shown
  std::vector<SwitchNameProblem> out;
  for (const auto& [own, shown] : spec.switch_names) {
    const auto add = [&out, own = &own](std::string what, std::string fix, std::string_view other) {
      out.push_back({*own, std::string(other), std::move(what), std::move(fix)});
    };
    const std::string quoted = StrCat("\"", shown, "\"");
    if (own.find(':') != own.npos) add("is a port or a link", "name the switch alone", "");
    if (shown.empty() || shown.find_first_of(":/") != shown.npos) {
      add(quoted + " is empty or has : or / in it", "give the switch's host name", "");
    }
    if (const auto [first, fresh] = seen.emplace(shown, own); !fresh) {
      add(StrCat(quoted, " is also the name of ", first->second), "give every switch its own",
          first->second);
    }
    if (shown == own) continue;
    for (const Tier& tier : spec.tiers) {
      if (!IsOwnName(tier, shown)) continue;
      add(quoted + " may be the Fabric's own name of another switch",
          StrCat("rename the role ", tier.role, " in spec.tiers"), "");
    }
    if (absent.count(shown) != 0) {
      add(StrCat("spec.absentSwitches has ", quoted, ", and takes ids"),
          StrCat("give ", own, " there"), "");
    }
  }
  return out;
}

std::string ShownName(const FabricSpec& spec, std::string_view name) {
  if (IsNicPort(name)) return std::string(name);
  const std::size_t end = EndOfOwner(name);
  const auto found = spec.switch_names.find(std::string(name.substr(0, end)));
  if (found == spec.switch_names.end()) return std::string(name);
  return StrCat(found->second, name.substr(end));
}

std::string OwnName(const FabricSpec& spec, std::string_view shown) {
  // Also where a switch has the name of the host.
  if (IsNicPort(shown)) return std::string(shown);
  const std::size_t end = EndOfOwner(shown);
  for (const auto& [own, name] : spec.switch_names) {
    if (name == shown.substr(0, end)) return StrCat(own, shown.substr(end));
  }
  return std::string(shown);
}

int LowerSwitchesPerPlace(const FabricSpec& spec, int upper) {
  const Tier& low = spec.tiers[static_cast<std::size_t>(upper - 1)];
  const Tier& high = spec.tiers[static_cast<std::size_t>(upper)];
  const int rails = RailsPerSwitch(spec, upper) / RailsPerSwitch(spec, upper - 1);
  const int planes = low.per_plane && !high.per_plane ? spec.planes : 1;
  return low.switches * rails * planes;
}

int LinksPerPair(const FabricSpec& spec, int upper) {
  const Tier& high = spec.tiers[static_cast<std::size_t>(upper)];
  return spec.tiers[static_cast<std::size_t>(upper - 1)].up_ports / (high.switches / high.stripes);
}

std::vector<std::string> Problems(const FabricSpec& spec) {
  Problem out;
  CheckHosts(spec, out);
  Need(!spec.tiers.empty(), out, "spec.tiers", "is empty", "describe at least the ToR tier");
  std::set<std::string> roles;
  for (std::size_t t = 0; t < spec.tiers.size(); ++t) {
    CheckTier(spec, t, out);
    Need(roles.insert(spec.tiers[t].role).second, out, StrCat("spec.tiers[", t, "].role"),
         StrCat("\"", spec.tiers[t].role, "\" is there twice"), "give every tier its own role");
  }
  CheckLevels(spec, out);
  Need(spec.addressing.base.empty() || IpAddress::Parse(spec.addressing.base).ok(), out,
       "spec.addressing.base", StrCat("\"", spec.addressing.base, "\" is not an IP address"),
       "give one like 10.0.0.0 or fd00::");
  if (!out.empty()) return out;
  CheckHostPorts(spec, out);
  for (std::size_t t = 1; t < spec.tiers.size(); ++t) CheckWiring(spec, t, out);
  for (const SwitchNameProblem& problem : SwitchNameProblems(spec)) {
    Need(false, out, StrCat("spec.switchNames[", problem.own, "]"), problem.what, problem.fix);
  }
  for (const auto& [role, hash] : spec.ecmp_hash) {
    Need(roles.count(role) != 0, out, StrCat("spec.ecmpHash.", role), "is not a tier's role",
         "use a role of spec.tiers");
  }
  for (const Tier& tier : spec.tiers) {
    const auto hash = spec.ecmp_hash.find(tier.role);
    if (hash == spec.ecmp_hash.end()) continue;
    CheckMembers(hash->second, std::max(tier.up_ports, tier.down_ports),
                 StrCat("spec.ecmpHash.", tier.role), out);
  }
  return out;
}

absl::Status Validate(const FabricSpec& spec) {
  std::vector<std::string> problems = Problems(spec);
  if (problems.empty()) return absl::OkStatus();
  for (std::string& problem : problems) problem = StrCat("Fabric ", spec.name, ": ", problem);
  return absl::InvalidArgumentError(Join(problems, "\n"));
}

}  // namespace yardmaster::fabric
