// Fields of planning results, one form for Gang.status and the offline PlanReport: reasons,
// relaxations, objective, assignments, network numbers. Thread safety: values and pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "nlohmann/json_fwd.hpp"

#include "pkg/api/field_visitor.h"
#include "pkg/placement/outcome.h"

namespace yardmaster::api {

// One rank's place, by name, so that it outlives the ids of a snapshot.
struct AssignmentEntry {
  int rank = 0;
  std::string host;
  std::string fabric_pod;
  std::string segment;
  std::vector<int> stages;
  std::string domain = {};  // empty: the fabric has no domains
  bool operator==(const AssignmentEntry&) const = default;

  void Describe(FieldVisitor& fields) {
    fields.Int("rank", rank, 0, 1'000'000, RequiredByServer("Worker rank."));
    fields.Text("host", host, kObjectName, Required("Node.").Always());
    fields.Text("fabricPod", fabric_pod, kLabelValue, About("Fabric pod.").Always());
    fields.Text("segment", segment, kLabelValue, About("Segment.").Always());
    fields.Text("domain", domain, kLabelValue, "Domain, where the fabric has domains.");
    fields.Ints("stages", stages, 0, 1'000'000, {1024},
                About("Pipeline stages it holds.").Always());
  }
};

enum class NetworkSource { kAnalytic, kMeasured, kBlended };
inline constexpr std::string_view kNetworkSourceNames[] = {"Analytic", "Measured", "Blended"};

// Crux's numbers of a placed job.
struct NetworkStatus {
  double flop_per_iteration = 0;
  double communication_seconds = 0;
  double intensity = 0;
  double priority = 0;
  int level = 0;
  NetworkSource source = NetworkSource::kAnalytic;
  bool operator==(const NetworkStatus&) const = default;

  void Describe(FieldVisitor& fields) {
    fields.Number("flopPerIteration", flop_per_iteration, 0, kNoMaximum, "FLOP of an iteration.");
    fields.Number("communicationSeconds", communication_seconds, 0, kNoMaximum,
                  "Time its communication takes alone.");
    fields.Number("intensity", intensity, 0, kNoMaximum, "FLOP per second of communication.");
    fields.Number("priority", priority, 0, kNoMaximum, "Intensity after correction.");
    fields.Int("level", level, 0, 63, "Network priority, 0 lowest.");
    fields.Enum("source", source, kNetworkSourceNames, "Where the numbers are from.");
  }
};

void Describe(FieldVisitor& fields, placement::Reason& reason);
void Describe(FieldVisitor& fields, placement::Relaxation& relaxation);
void Describe(FieldVisitor& fields, placement::Objective& objective);

nlohmann::json EncodeReasons(const std::vector<placement::Reason>& reasons);
nlohmann::json EncodeRelaxations(const std::vector<placement::Relaxation>& relaxations);
nlohmann::json EncodeObjective(const placement::Objective& objective);
nlohmann::json EncodeAssignments(const std::vector<AssignmentEntry>& assignments);

// "Placed", "NotNow" or "Never".
nlohmann::json EncodeOutcome(placement::Outcome outcome);

}  // namespace yardmaster::api
