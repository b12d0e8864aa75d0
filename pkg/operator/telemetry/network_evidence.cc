#include "pkg/operator/telemetry/network_evidence.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>

#include "pkg/api/names.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/config/observations.h"

namespace yardmaster::op {

namespace {

using fabric::CableId;
using fabric::Network;
using repac::RoleTrust;
using repac::TrustVerdict;

void Merge(const std::vector<RoleTrust>& some, std::vector<RoleTrust>& all) {
  if (all.empty()) all.resize(some.size());
  for (std::size_t i = 0; i < some.size() && i < all.size(); ++i) {
    RoleTrust& to = all[i];
    to.role = some[i].role;
    to.checked += some[i].checked;
    to.wrong += some[i].wrong;
    to.foreign += some[i].foreign;
    if (to.example.empty()) to.example = some[i].example;
  }
}

constexpr std::string_view kNodeSource = "Node ";

// The Node that a source stands for; empty: the Fabric, which may speak of everything.
std::string_view NodeOf(std::string_view source) {
  return source.substr(0, kNodeSource.size()) == kNodeSource ? source.substr(kNodeSource.size())
                                                             : std::string_view();
}

bool HasWrongHop(const RoleTrust& role) { return role.wrong + role.foreign > 0; }

}  // namespace

const Evidence& TelemetryChecker::Read(const api::Fabric& fabric,
                                       const state::ObjectTable<api::Node>& nodes,
                                       const Network& network, std::uint64_t epoch,
                                       const std::vector<std::uint8_t>& down) {
  const bool fresh = epoch != epoch_;
  epoch_ = epoch;
  if (fresh) trust_of_source_.clear();
  Texts paths;
  Texts neighbours;
  evidence_.balancing.clear();
  const auto read = [&](const std::string& source, const api::ObjectMeta& metadata) {
    if (const auto text = api::Find(metadata.annotations, api::kObservedPathsAnnotation)) {
      if (!text->empty()) paths.emplace(source, *text);
    }
    if (const auto text = api::Find(metadata.annotations, api::kNeighboursAnnotation)) {
      if (!text->empty()) neighbours.emplace(source, *text);
    }
  };
  read(StrCat("Fabric ", fabric.metadata.name), fabric.metadata);
  for (const auto& node : nodes) {
    read(StrCat("Node ", node->metadata.name), node->metadata);
    const auto how = api::Find(node->metadata.annotations, api::kNicLoadBalancingAnnotation);
    if (how && !how->empty() && *how != "none") {
      evidence_.balancing.emplace(node->metadata.name, std::string(*how));
    }
  }
  CheckPaths(paths, network, down);
  if (fresh || neighbours != neighbours_) CheckCables(neighbours, network);
  neighbours_ = std::move(neighbours);
  evidence_.neighbours_reported = !neighbours_.empty();

  evidence_.problems = wiring_problems_;
  for (const auto& [source, trust] : trust_of_source_) {
    if (!trust.problem.empty()) evidence_.problems.push_back(trust.problem);
  }
  evidence_.exclude.clear();
  for (const fabric::NicPort& port : evidence_.wiring.nic_ports) {
    evidence_.exclude.push_back({port.host, port.rail});
  }
  for (const auto& [name, how] : evidence_.balancing) {
    const fabric::HostId host = network.places().FindHost(name);
    if (!host.valid()) continue;
    for (int rail = 0; rail < network.spec().rails; ++rail) {
      evidence_.exclude.push_back({host, rail});
    }
  }
  std::sort(evidence_.exclude.begin(), evidence_.exclude.end());
  evidence_.exclude.erase(std::unique(evidence_.exclude.begin(), evidence_.exclude.end()),
                          evidence_.exclude.end());
  evidence_.avoid = evidence_.wiring.cables;
  return evidence_;
}

void TelemetryChecker::CheckPaths(const Texts& texts, const Network& network,
                                  const std::vector<std::uint8_t>& down) {
  std::erase_if(trust_of_source_, [&](const auto& entry) { return texts.count(entry.first) == 0; });
  std::optional<repac::ForwardingModel> forwarding;
  for (const auto& [source, text] : texts) {
    SourceTrust& trust = trust_of_source_[source];
    if (trust.text == text) continue;
    trust = {text, {}, ""};
    auto observed = config::ReadObservedPaths(network, text,
                                              StrCat(source, ": ", api::kObservedPathsAnnotation));
    if (!observed.ok()) {
      trust.problem = MessageOf(observed.status());
      continue;
    }
    if (!forwarding) {
      const auto hashes = repac::SwitchHashes::Compile(network);
      if (!hashes.ok()) return;  // the Fabric's condition PathsPlanned says so
      std::vector<CableId> cables;
      for (std::size_t c = 0; c < down.size(); ++c) {
        if (down[c] != 0) cables.push_back(CableId(static_cast<std::int32_t>(c)));
      }
      forwarding.emplace(network, *hashes, cables);
    }
    if (const std::string_view node = NodeOf(source); !node.empty()) {
      const std::size_t foreign = std::erase_if(*observed, [&](const repac::ObservedPath& path) {
        return network.places().name(path.src.host) != node;
      });
      if (foreign > 0) {
        trust.problem = StrCat(source, ": ", api::kObservedPathsAnnotation, ": ",
                               Count(static_cast<std::int64_t>(foreign), "path"),
                               " that do not begin at this Node are ignored; let the Node where "
                               "they begin, or the Fabric, report them");
      }
    }
    trust.roles = repac::CheckPredictions(*forwarding, *observed);
  }
  evidence_.roles.clear();
  for (const fabric::Tier& tier : network.spec().tiers) {
    evidence_.roles.emplace_back();
    evidence_.roles.back().role = tier.role;
  }
  for (const auto& [source, trust] : trust_of_source_) Merge(trust.roles, evidence_.roles);
  Conclude();
}

void TelemetryChecker::Conclude() {
  for (std::size_t i = 0; i < evidence_.roles.size(); ++i) {
    RoleTrust& role = evidence_.roles[i];
    int nodes = 0, wrong_nodes = 0;
    bool by_fabric = false;
    for (const auto& [source, trust] : trust_of_source_) {
      if (i >= trust.roles.size() || trust.roles[i].checked + trust.roles[i].foreign == 0) {
        continue;
      }
      const bool wrong = HasWrongHop(trust.roles[i]);
      if (NodeOf(source).empty()) {
        by_fabric |= wrong;
      } else {
        ++nodes;
        wrong_nodes += wrong ? 1 : 0;
      }
    }
    const bool quorum = wrong_nodes >= kMistrustQuorum && wrong_nodes >= kMistrustShare * nodes;
    role.verdict = by_fabric || quorum ? TrustVerdict::kMistrusted
                   : !HasWrongHop(role) && role.checked >= repac::TrustOptions().min_checked
                       ? TrustVerdict::kTrusted
                       : TrustVerdict::kUnknown;
  }
}

void TelemetryChecker::CheckCables(const Texts& texts, const Network& network) {
  wiring_problems_.clear();
  std::vector<repac::Neighbour> all;
  for (const auto& [source, text] : texts) {
    auto read = config::ReadNeighbours(text, StrCat(source, ": ", api::kNeighboursAnnotation));
    if (!read.ok()) {
      wiring_problems_.push_back(MessageOf(read.status()));
      continue;
    }
    if (const std::string_view node = NodeOf(source); !node.empty()) {
      const std::string own = StrCat(node, ":");
      const std::size_t foreign = std::erase_if(*read, [&](const repac::Neighbour& neighbour) {
        return neighbour.local.rfind(own, 0) != 0;
      });
      if (foreign > 0) {
        wiring_problems_.push_back(
            StrCat(source, ": ", api::kNeighboursAnnotation, ": ",
                   Count(static_cast<std::int64_t>(foreign), "port"),
                   " of others are ignored; a Node may speak of its own ports only"));
      }
    }
    std::move(read->begin(), read->end(), std::back_inserter(all));
  }
  repac::WiringReport& wiring = evidence_.wiring;
  wiring = repac::CheckWiring(network, all);
  evidence_.wiring_distrusted = wiring.faults.size() >= kDistrustedFaults &&
                                2 * wiring.faults.size() > static_cast<std::size_t>(wiring.checked);
  if (!evidence_.wiring_distrusted) return;
  wiring.nic_ports.clear();
  wiring.cables.clear();
  wiring.swaps.clear();
}

}  // namespace yardmaster::op
