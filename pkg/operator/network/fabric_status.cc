#include "pkg/operator/network/fabric_status.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "pkg/api/names.h"
#include "pkg/base/strings.h"
#include "pkg/state/place_contradictions.h"

namespace yardmaster::op {

namespace {

// The first warning that names this Fabric.
std::string WarningAbout(const api::Fabric& fabric, const plan::Snapshot& snapshot) {
  const std::string name = StrCat("Fabric ", fabric.metadata.name, ":");
  for (const std::string& warning : snapshot.warnings) {
    if (warning.rfind(name, 0) == 0) return warning.substr(name.size() + 1);
  }
  return "";
}

using api::Condition;
using api::ConditionStatus;

// "a, b, c and 4 more".
std::string Listed(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 8;
  std::vector<std::string> some(names.begin(), names.begin() + std::min(names.size(), kMost));
  std::string text = Join(some, ", ");
  if (names.size() > kMost) text += StrCat(" and ", names.size() - kMost, " more");
  return text;
}

Condition Of(const char* type, ConditionStatus status, const char* reason, std::string message) {
  return {type, status, reason, std::move(message), 0, 0};
}

Condition LinksUp(const NetworkHealth& health) {
  std::vector<std::string> parts;
  if (!health.links_problem.empty()) parts.push_back(health.links_problem);
  if (!health.down.empty()) {
    parts.push_back(StrCat(Count(static_cast<std::int64_t>(health.down.size()), "cable"),
                           " down: ", Listed(health.down)));
  }
  if (!parts.empty()) {
    return Of(kLinksUpCondition, ConditionStatus::kFalse,
              health.links_problem.empty() ? "LinksDown" : "ReportUnusable", Join(parts, "; "));
  }
  if (health.distrusted > 0) {
    return Of(
        kLinksUpCondition, ConditionStatus::kUnknown, "SensorFault",
        StrCat("agents report ", Count(health.distrusted, "NIC port"),
               " down, more than half of the fabric, and are not believed; look at the agents"));
  }
  if (health.held > 0) {
    return Of(kLinksUpCondition, ConditionStatus::kTrue, "HeldBack",
              StrCat(Count(health.held, "cable"), " back and not used yet, for fear of flapping"));
  }
  return Of(kLinksUpCondition, ConditionStatus::kTrue, "AllUp", "no cable is reported down");
}

Condition WiringVerified(const fabric::FabricSpec& spec, const Evidence& evidence) {
  const repac::WiringReport& wiring = evidence.wiring;
  if (!evidence.neighbours_reported || wiring.checked == 0) {
    return Of(kWiringVerifiedCondition, ConditionStatus::kUnknown, "NotReported",
              "no agent reports what the ports are plugged into");
  }
  if (evidence.wiring_distrusted) {
    return Of(kWiringVerifiedCondition, ConditionStatus::kUnknown, "SensorFault",
              StrCat(wiring.faults.size(), " of ", wiring.checked,
                     " cables are reported elsewhere than the Fabric has them: the reports or the "
                     "Fabric are wrong rather than the cables, and nothing is avoided for it"));
  }
  if (wiring.faults.empty()) {
    return Of(kWiringVerifiedCondition, ConditionStatus::kTrue, "AsDescribed",
              "every cable that was reported is where the Fabric has it");
  }
  std::vector<std::string> faults;
  for (const repac::WiringFault& fault : wiring.faults) {
    faults.push_back(StrCat(ShownName(spec, fault.port), " is in ", ShownName(spec, fault.found),
                            " instead of ", ShownName(spec, fault.expected)));
  }
  std::vector<std::string> swaps;
  for (const repac::PlugSwap& swap : wiring.swaps) {
    swaps.push_back(StrCat(ShownName(spec, swap.first), " and ", ShownName(spec, swap.second)));
  }
  std::string text = Listed(faults);
  if (!swaps.empty()) text += StrCat("; exchange the plugs at ", Listed(swaps));
  return Of(kWiringVerifiedCondition, ConditionStatus::kFalse, "Miswired", std::move(text));
}

Condition PathsTrusted(const Evidence& evidence) {
  std::vector<std::string> wrong;
  std::vector<std::string> trusted;
  for (const repac::RoleTrust& role : evidence.roles) {
    if (role.verdict == repac::TrustVerdict::kMistrusted) {
      wrong.push_back(StrCat(role.role, ": ", role.example));
    } else if (role.verdict == repac::TrustVerdict::kTrusted) {
      trusted.push_back(role.role);
    }
  }
  if (!wrong.empty()) {
    return Of(kPathsTrustedCondition, ConditionStatus::kFalse, "PredictionsDiffer",
              StrCat(Join(wrong, "; "), "; no source ports are planned through these roles"));
  }
  if (!trusted.empty()) {
    return Of(kPathsTrustedCondition, ConditionStatus::kTrue, "PredictionsAgree",
              StrCat("packets go where the hashes of ", Join(trusted, ", "), " say"));
  }
  return Of(kPathsTrustedCondition, ConditionStatus::kUnknown, "NotObserved",
            "too little was seen of where packets go");
}

Condition PathsPlanned(const NetworkHealth& health) {
  if (!health.hashes_problem.empty()) {
    return Of(kPathsPlannedCondition, ConditionStatus::kFalse, "HashesInvalid",
              StrCat("no connection has a source port: ", health.hashes_problem));
  }
  if (!health.evidence.balancing.empty()) {
    std::vector<std::string> hosts;
    for (const auto& [host, how] : health.evidence.balancing) {
      hosts.push_back(StrCat(host, " (", how, ")"));
    }
    return Of(kPathsPlannedCondition, ConditionStatus::kFalse, "NicLoadBalancing",
              StrCat("these hosts' NICs choose paths by themselves and get no source ports: ",
                     Listed(hosts)));
  }
  if (health.unplanned_flows > 0) {
    return Of(kPathsPlannedCondition, ConditionStatus::kFalse, "NotPredictable",
              StrCat("some connections have no source port: ", health.unplanned_reason));
  }
  return Of(kPathsPlannedCondition, ConditionStatus::kTrue, "Planned",
            "every connection of every placed gang has a source port");
}

// A connection leaves a port by its source port: without one nothing steers it.
std::string UseOfLossyPorts(const fabric::FabricSpec& spec, const NetworkHealth& health) {
  if (spec.nic_spraying) return "the NICs spray and go on using these ports";
  if (!health.hashes_problem.empty()) {
    return "connections have no source ports and go on using these ports (condition PathsPlanned)";
  }
  const std::string steered = "connections use other ports of these NICs where they have a way";
  const bool all_steered = health.unplanned_flows == 0 && health.evidence.balancing.empty() &&
                           repac::Mistrusted(health.evidence.roles).empty();
  return all_steered ? steered
                     : StrCat(steered,
                              ", except those without a source port, which nothing steers "
                              "(conditions PathsPlanned, PathsTrusted)");
}

// nullopt: there is nothing to say.
std::optional<Condition> LinksClean(const fabric::FabricSpec& spec, const NetworkHealth& health,
                                    const api::FabricStatus& before) {
  const LossyCables& lossy = health.lossy;
  if (!lossy.cables.empty()) {
    return Of(kLinksCleanCondition, ConditionStatus::kFalse, "PacketLoss",
              StrCat("frames arrive damaged at ", Listed(lossy.evidence), "; ",
                     UseOfLossyPorts(spec, health),
                     ". Clean or replace optics and cable, or use another switch port"));
  }
  if (lossy.distrusted > 0) {
    return Of(kLinksCleanCondition, ConditionStatus::kUnknown, "SensorFault",
              StrCat("agents report packet loss at ", Count(lossy.distrusted, "NIC port"),
                     ", more than a tenth of the fabric, and are not believed until it is half "
                     "as many; look at the agents and the drivers' counters"));
  }
  if (api::FindCondition(before.conditions, kLinksCleanCondition) == nullptr) return std::nullopt;
  return Of(kLinksCleanCondition, ConditionStatus::kTrue, "NoLoss",
            "no NIC port is reported to lose packets");
}

struct LostKind {
  const char* condition;
  const char* reason;
  std::string_view name;
  std::string_view fault;  // what it is a fault of
};
constexpr LostKind kSegments = {kSegmentsUpCondition, "SegmentLost", "segment",
                                "switches or power"};
constexpr LostKind kDomains = {kDomainsUpCondition, "DomainLost", "domain", "its rack's power"};

template <typename Lost>
Condition PlacesUp(const LostKind& kind, const std::vector<Lost>& lost,
                   const std::vector<SegmentVerdict>& verdicts) {
  if (!lost.empty()) {
    std::vector<std::string> names;
    for (const Lost& place : lost) names.push_back(LostPlaceName(place));
    return Of(kind.condition, ConditionStatus::kFalse, kind.reason,
              StrCat("most hosts of ", kind.name, names.size() == 1 ? " " : "s ", Listed(names),
                     " were lost together, which is one fault of ", kind.fault,
                     ": jobs move from there where they may, and nothing is placed there until it "
                     "is back"));
  }
  for (const SegmentVerdict& verdict : verdicts) {
    if (verdict.state != SegmentState::kHeld) continue;
    return Of(
        kind.condition, ConditionStatus::kUnknown, "NotActedOn",
        StrCat(kind.name, " ", verdict.name, " looks lost, nothing is moved: ", verdict.reason));
  }
  return Of(kind.condition, ConditionStatus::kTrue, "NoneLost",
            StrCat("no ", kind.name, " is lost as a whole"));
}

void FromName(const std::string& name, std::int64_t since_ms, api::LostSegment& lost) {
  const std::size_t slash = name.find('/');
  lost = {name.substr(0, slash), name.substr(slash + 1), since_ms};
}
void FromName(const std::string& name, std::int64_t since_ms, api::LostDomain& lost) {
  const std::size_t first = name.find('/');
  const std::size_t second = name.find('/', first + 1);
  lost = {name.substr(0, first), name.substr(first + 1, second - first - 1),
          name.substr(second + 1), since_ms};
}

template <typename Lost>
void AddLost(const LostKind& kind, const std::vector<SegmentVerdict>& verdicts,
             std::int64_t generation, std::int64_t steady_ms, std::int64_t now_ms,
             std::vector<Lost>& places, std::vector<Condition>& conditions) {
  std::vector<Lost> lost;
  for (const SegmentVerdict& verdict : verdicts) {
    const auto known = std::find_if(places.begin(), places.end(), [&](const Lost& place) {
      return LostPlaceName(place) == verdict.name;
    });
    if (known != places.end() && verdict.state != SegmentState::kHeld) {
      lost.push_back(*known);
    } else if (verdict.state == SegmentState::kLost) {
      // The API server keeps whole seconds.
      const std::int64_t since_ms = (now_ms - (steady_ms - verdict.since_ms)) / 1000 * 1000;
      FromName(verdict.name, since_ms, lost.emplace_back());
    }
  }
  places = std::move(lost);
  Condition condition = PlacesUp(kind, places, verdicts);
  condition.observed_generation = generation;
  api::SetCondition(conditions, std::move(condition), now_ms);
}

}  // namespace

std::string LostPlaceName(const api::LostSegment& lost) {
  return StrCat(lost.fabric_pod, "/", lost.segment);
}
std::string LostPlaceName(const api::LostDomain& lost) {
  return StrCat(lost.fabric_pod, "/", lost.segment, "/", lost.domain);
}

void AddLostSegments(const std::vector<SegmentVerdict>& segments, std::int64_t generation,
                     std::int64_t steady_ms, std::int64_t now_ms, api::FabricStatus& status) {
  AddLost(kSegments, segments, generation, steady_ms, now_ms, status.lost_segments,
          status.conditions);
}

void AddLostDomains(const std::vector<SegmentVerdict>& domains, std::int64_t generation,
                    std::int64_t steady_ms, std::int64_t now_ms, api::FabricStatus& status) {
  AddLost(kDomains, domains, generation, steady_ms, now_ms, status.lost_domains, status.conditions);
}

void AddNetworkConditions(const fabric::FabricSpec& spec, const NetworkHealth& health,
                          std::int64_t generation, std::int64_t now_ms, api::FabricStatus& status) {
  std::vector<Condition> conditions = {LinksUp(health), WiringVerified(spec, health.evidence),
                                       PathsTrusted(health.evidence), PathsPlanned(health)};
  if (auto clean = LinksClean(spec, health, status)) conditions.push_back(*std::move(clean));
  for (Condition& condition : conditions) {
    condition.observed_generation = generation;
    api::SetCondition(status.conditions, std::move(condition), now_ms);
  }
}

void AddAgentsCondition(bool any_reports, const std::string& segment_label, std::int64_t generation,
                        std::int64_t now_ms, api::FabricStatus& status) {
  Condition condition =
      any_reports
          ? Of(kAgentsReportCondition, ConditionStatus::kTrue, "Reporting", "agents have streams")
          : Of(kAgentsReportCondition, ConditionStatus::kFalse, "NoneReports",
               StrCat("no agent has a stream, so no plan reaches a host and no lost link is seen: "
                      "agent.affinity of the chart has to name the label ",
                      segment_label, ", or see why its pods do not run"));
  condition.observed_generation = generation;
  api::SetCondition(status.conditions, std::move(condition), now_ms);
}

namespace {

// Nothing where every class is counted and was before.
void AddDevices(const plan::Snapshot& snapshot, std::int64_t generation, std::int64_t now_ms,
                api::FabricStatus& status) {
  std::vector<std::string> problems;
  for (const std::string& warning : snapshot.warnings) {
    if (warning.starts_with("DeviceClass ")) problems.push_back(warning);
  }
  if (problems.empty() &&
      api::FindCondition(status.conditions, kDevicesCountedCondition) == nullptr) {
    return;
  }
  Condition condition =
      problems.empty()
          ? Of(kDevicesCountedCondition, ConditionStatus::kTrue, "Counted",
               "devices of every DeviceClass are counted exactly")
          : Of(kDevicesCountedCondition, ConditionStatus::kFalse, "NotCountable", Listed(problems));
  condition.observed_generation = generation;
  api::SetCondition(status.conditions, std::move(condition), now_ms);
}

// Nothing where domains do not contradict and never did.
void AddDomains(const api::Fabric& fabric, const plan::Snapshot& snapshot, std::int64_t now_ms,
                api::FabricStatus& status) {
  const std::vector<std::string> problems =
      state::DomainContradictions(*snapshot.places, fabric.spec);
  if (problems.empty() &&
      api::FindCondition(status.conditions, kDomainsConsistentCondition) == nullptr) {
    return;
  }
  Condition condition = problems.empty()
                            ? Of(kDomainsConsistentCondition, ConditionStatus::kTrue, "Consistent",
                                 "labels of domains contradict neither the Fabric nor each other")
                            : Of(kDomainsConsistentCondition, ConditionStatus::kFalse,
                                 "LabelsContradict", Join(problems, "; "));
  condition.observed_generation = fabric.metadata.generation;
  api::SetCondition(status.conditions, std::move(condition), now_ms);
}

}  // namespace

api::FabricStatus StatusOf(const api::Fabric& fabric, const plan::Snapshot& snapshot, bool used,
                           std::int64_t now_ms) {
  api::FabricStatus status = fabric.status;
  status.observed_generation = fabric.metadata.generation;
  status.fabric_pods = status.segments = status.hosts = status.backup_hosts = 0;
  api::Condition ready{"Ready", api::ConditionStatus::kFalse, "",
                       "",      fabric.metadata.generation,   0};
  if (!used) {
    ready.reason = "Unused";
    ready.message =
        StrCat("one cluster plans on one Fabric, the oldest or the one with the annotation ",
               api::kInUseAnnotation, "=true; give it to this one to switch, or delete the other");
  } else {
    status.fabric_pods = snapshot.places->num_fabric_pods();
    status.segments = snapshot.places->num_segments();
    status.hosts = snapshot.places->num_hosts();
    for (const placement::HostState& host : snapshot.cluster.hosts) {
      status.backup_hosts += host.backup ? 1 : 0;
    }
    if (snapshot.network != nullptr) {
      ready.status = api::ConditionStatus::kTrue;
      ready.reason = "InUse";
      ready.message =
          StrCat(Count(status.hosts, "host"), " in ", Count(status.segments, "segment"));
    } else {
      ready.reason = "Invalid";
      ready.message = WarningAbout(fabric, snapshot);
    }
  }
  api::SetCondition(status.conditions, ready, now_ms);
  if (used) AddDevices(snapshot, fabric.metadata.generation, now_ms, status);
  if (used) AddDomains(fabric, snapshot, now_ms, status);
  return status;
}

}  // namespace yardmaster::op
