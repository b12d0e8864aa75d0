#include "pkg/api/outcome_json.h"

#include "pkg/api/field_codec.h"
#include "pkg/api/status_word.h"

namespace yardmaster::api {

namespace {

using nlohmann::json;
using placement::ReasonCode;

// In the order of the enumeration.
constexpr std::string_view kLevelNames[] = {"host", "domain", "segment", "fabricPod", "fabric"};

}  // namespace

void Describe(FieldVisitor& fields, placement::Reason& reason) {
  // The schema takes every code, so that an older CRD does not refuse a newer extender's.
  fields.Parsed(
      "code", TextRule{64}, RequiredByServer("For programs, for example NotEnoughHosts."),
      [&](FieldReader& in) {
        in.CheckText("code", TextRule{64});
        reason.code = ReadWord(in, "code", placement::kReasonCodeNames, ReasonCode::kInvalid);
      },
      [&] { return std::string(placement::Name(reason.code)); });
  fields.Word("level", reason.level, kLevelNames, workload::TopologyLevel::kFabric,
              "Where the count was taken.");
  fields.Int("count", reason.count, INT64_MIN, INT64_MAX, "How many are short, occupied, out.");
  fields.Text("message", reason.message, TextRule{1024}, About("One sentence.").Always());
}

void Describe(FieldVisitor& fields, placement::Relaxation& relaxation) {
  fields.Text("change", relaxation.change, TextRule{256},
              About("For example placement: {data: {mode: Preferred}}.").Always());
  fields.Enum("outcome", relaxation.outcome, placement::kOutcomeNames, "What would come of it.");
}

void Describe(FieldVisitor& fields, placement::Objective& objective) {
  const auto count = [&](const char* key, std::int64_t& value, const char* meaning) {
    fields.Int(key, value, 0, INT64_MAX, meaning);
  };
  count("tensorSplitDomains", objective.tensor_split_domains,
        "Domains minus one, summed over tensor, context and expert groups; 0 without domains.");
  count("tensorSplitFabricPods", objective.tensor_split_fabric_pods,
        "Fabric pods minus one, summed over tensor groups.");
  count("dataSplitFabricPods", objective.data_split_fabric_pods, "The same over data groups.");
  count("tensorSplitSegments", objective.tensor_split_segments,
        "Segments minus one, summed over tensor groups.");
  count("dataSplitSegments", objective.data_split_segments, "The same over data groups.");
  count("fabricPods", objective.fabric_pods, "Fabric pods used.");
  count("segments", objective.segments, "Segments used.");
  count("domains", objective.domains, "Domains used; 0 without domains.");
}

json EncodeReasons(const std::vector<placement::Reason>& reasons) { return EncodeObjects(reasons); }

json EncodeRelaxations(const std::vector<placement::Relaxation>& relaxations) {
  return EncodeObjects(relaxations);
}

json EncodeObjective(const placement::Objective& objective) { return EncodeObject(objective); }

json EncodeAssignments(const std::vector<AssignmentEntry>& assignments) {
  return EncodeObjects(assignments);
}

json EncodeOutcome(placement::Outcome outcome) { return placement::Name(outcome); }

}  // namespace yardmaster::api
