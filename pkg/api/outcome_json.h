// JSON of planning results, one form for Gang.status and the offline PlanReport: reasons,
// relaxations, objective, assignments, network numbers. Thread safety: values and pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nlohmann/json_fwd.hpp"

#include "pkg/api/field_reader.h"
#include "pkg/placement/outcome.h"

namespace yardmaster::api {

// One rank's place, by name, so that it outlives the ids of a snapshot.
struct AssignmentEntry {
  int rank = 0;
  std::string host;
  std::string fabric_pod;
  std::string segment;
  std::vector<int> stages;
  bool operator==(const AssignmentEntry&) const = default;
};

enum class NetworkSource { kAnalytic, kMeasured, kBlended };

// Crux's numbers of a placed job.
struct NetworkStatus {
  double flop_per_iteration = 0;
  double communication_seconds = 0;
  double intensity = 0;
  double priority = 0;
  int level = 0;
  NetworkSource source = NetworkSource::kAnalytic;
  bool operator==(const NetworkStatus&) const = default;
};

nlohmann::json EncodeReasons(const std::vector<placement::Reason>& reasons);
std::vector<placement::Reason> ReadReasons(FieldReader& object);
nlohmann::json EncodeRelaxations(const std::vector<placement::Relaxation>& relaxations);
std::vector<placement::Relaxation> ReadRelaxations(FieldReader& object);
nlohmann::json EncodeObjective(const placement::Objective& objective);
placement::Objective ReadObjective(FieldReader objective);
nlohmann::json EncodeAssignments(const std::vector<AssignmentEntry>& assignments);
std::vector<AssignmentEntry> ReadAssignments(FieldReader& object);
nlohmann::json EncodeNetwork(const NetworkStatus& network);
NetworkStatus ReadNetwork(FieldReader network);

// "Placed", "NotNow" or "Never".
nlohmann::json EncodeOutcome(placement::Outcome outcome);
placement::Outcome ReadOutcome(FieldReader& object, std::string_view key,
                               placement::Outcome fallback);

}  // namespace yardmaster::api
