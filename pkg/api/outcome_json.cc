#include "pkg/api/outcome_json.h"

#include "nlohmann/json.hpp"

#include "pkg/api/status_word.h"

namespace yardmaster::api {

namespace {

using nlohmann::json;
using placement::Outcome;
using placement::ReasonCode;

// In the order of the enumerations.
constexpr std::string_view kOutcomeNames[] = {"Placed", "NotNow", "Never"};
constexpr std::string_view kCodeNames[] = {
    "NotEnoughHosts",        "HostsOccupied", "HostsOut",      "HostsKeptAsBackup",
    "InsufficientResources", "HostsExcluded", "GroupTooLarge", "Reserved",
    "WaitsForTurn",          "SearchCut",     "Invalid"};
constexpr std::string_view kLevelNames[] = {"host", "segment", "fabricPod", "fabric"};
constexpr std::string_view kSourceNames[] = {"Analytic", "Measured", "Blended"};

template <typename E, std::size_t N>
std::string_view NameOf(const std::string_view (&names)[N], E value) {
  return names[static_cast<std::size_t>(value)];
}

}  // namespace

json EncodeReasons(const std::vector<placement::Reason>& reasons) {
  json out = json::array();
  for (const placement::Reason& reason : reasons) {
    out.push_back({{"code", NameOf(kCodeNames, reason.code)},
                   {"level", NameOf(kLevelNames, reason.level)},
                   {"count", reason.count},
                   {"message", reason.message}});
  }
  return out;
}

std::vector<placement::Reason> ReadReasons(FieldReader& object) {
  std::vector<placement::Reason> out;
  for (FieldReader& in : object.Objects("reasons", {64})) {
    in.CheckText("code", TextRule{64});
    out.push_back({ReadWord(in, "code", kCodeNames, ReasonCode::kInvalid),
                   ReadWord(in, "level", kLevelNames, workload::TopologyLevel::kFabric),
                   in.Int64("count", 0, INT64_MIN, INT64_MAX),
                   in.String("message", TextRule{1024})});
    in.Close();
  }
  return out;
}

json EncodeRelaxations(const std::vector<placement::Relaxation>& relaxations) {
  json out = json::array();
  for (const placement::Relaxation& relaxation : relaxations) {
    out.push_back(
        {{"change", relaxation.change}, {"outcome", NameOf(kOutcomeNames, relaxation.outcome)}});
  }
  return out;
}

std::vector<placement::Relaxation> ReadRelaxations(FieldReader& object) {
  std::vector<placement::Relaxation> out;
  for (FieldReader& in : object.Objects("relaxations", {16})) {
    out.push_back(
        {in.String("change", TextRule{256}), ReadOutcome(in, "outcome", Outcome::kPlaced)});
    in.Close();
  }
  return out;
}

json EncodeObjective(const placement::Objective& objective) {
  return {{"tensorSplitFabricPods", objective.tensor_split_fabric_pods},
          {"dataSplitFabricPods", objective.data_split_fabric_pods},
          {"tensorSplitSegments", objective.tensor_split_segments},
          {"dataSplitSegments", objective.data_split_segments},
          {"fabricPods", objective.fabric_pods},
          {"segments", objective.segments}};
}

placement::Objective ReadObjective(FieldReader in) {
  placement::Objective out;
  auto count = [&](const char* key) { return in.Int64(key, 0, 0, INT64_MAX); };
  out.tensor_split_fabric_pods = count("tensorSplitFabricPods");
  out.data_split_fabric_pods = count("dataSplitFabricPods");
  out.tensor_split_segments = count("tensorSplitSegments");
  out.data_split_segments = count("dataSplitSegments");
  out.fabric_pods = count("fabricPods");
  out.segments = count("segments");
  in.Close();
  return out;
}

json EncodeAssignments(const std::vector<AssignmentEntry>& assignments) {
  json out = json::array();
  for (const AssignmentEntry& entry : assignments) {
    out.push_back({{"rank", entry.rank},
                   {"host", entry.host},
                   {"fabricPod", entry.fabric_pod},
                   {"segment", entry.segment},
                   {"stages", entry.stages}});
  }
  return out;
}

std::vector<AssignmentEntry> ReadAssignments(FieldReader& object) {
  std::vector<AssignmentEntry> out;
  for (FieldReader& in : object.Objects("assignments", {16'384})) {
    out.push_back({in.Int("rank", 0, 0, 1'000'000), in.RequiredString("host", kObjectName),
                   in.String("fabricPod", kLabelValue), in.String("segment", kLabelValue),
                   in.Ints("stages", 0, 1'000'000, {1024})});
    in.Close();
  }
  return out;
}

json EncodeNetwork(const NetworkStatus& network) {
  return {{"flopPerIteration", network.flop_per_iteration},
          {"communicationSeconds", network.communication_seconds},
          {"intensity", network.intensity},
          {"priority", network.priority},
          {"level", network.level},
          {"source", NameOf(kSourceNames, network.source)}};
}

NetworkStatus ReadNetwork(FieldReader in) {
  constexpr double kMax = 1e300;
  NetworkStatus out;
  out.flop_per_iteration = in.Number("flopPerIteration", 0, 0, kMax);
  out.communication_seconds = in.Number("communicationSeconds", 0, 0, kMax);
  out.intensity = in.Number("intensity", 0, 0, kMax);
  out.priority = in.Number("priority", 0, 0, kMax);
  out.level = in.Int("level", 0, 0, 63);
  out.source = in.Enum("source", kSourceNames, NetworkSource::kAnalytic);
  in.Close();
  return out;
}

json EncodeOutcome(Outcome outcome) { return NameOf(kOutcomeNames, outcome); }

Outcome ReadOutcome(FieldReader& object, std::string_view key, Outcome fallback) {
  return object.Enum(key, kOutcomeNames, fallback);
}

}  // namespace yardmaster::api
