// Conditions as Kubernetes' conventions have them: one entry per type, and a transition time that
// moves only when the status does, so that `kubectl wait` and people can trust it. Thread safety:
// values and pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "nlohmann/json_fwd.hpp"

#include "pkg/api/field_reader.h"
#include "pkg/api/field_visitor.h"

namespace yardmaster::api {

enum class ConditionStatus { kTrue, kFalse, kUnknown };
inline constexpr std::string_view kConditionStatusNames[] = {"True", "False", "Unknown"};

struct Condition {
  std::string type;
  ConditionStatus status = ConditionStatus::kUnknown;
  std::string reason;
  std::string message;
  std::int64_t observed_generation = 0;
  std::int64_t transition_ms = 0;
  bool operator==(const Condition&) const = default;

  void Describe(FieldVisitor& fields) {
    fields.Text("type", type, TextRule{64}, Required("CamelCase name."));
    fields.Enum("status", status, kConditionStatusNames, RequiredByServer("Whether it holds."));
    fields.Text("reason", reason, TextRule{128}, About("CamelCase, for programs.").Always());
    fields.Text("message", message, kMessage, About("For people.").Always());
    fields.Int("observedGeneration", observed_generation, 0, INT64_MAX,
               "metadata.generation it was computed from.");
    fields.Time("lastTransitionTime", transition_ms, About("When status last changed.").Always());
  }
};

// Adds or replaces the condition of that type; `transition_ms` of the argument is ignored. A new
// transition time is `now_ms` cut to whole seconds, and the message is cut to kMaxStatusTextBytes
// (status_text.h). Returns true if the list is different afterwards.
bool SetCondition(std::vector<Condition>& conditions, Condition condition, std::int64_t now_ms);
// The condition of that type, or null.
const Condition* FindCondition(const std::vector<Condition>& conditions, std::string_view type);
bool IsTrue(const std::vector<Condition>& conditions, std::string_view type);

// The field `conditions` of a status.
void ConditionsField(FieldVisitor& status, std::vector<Condition>& conditions);
std::vector<Condition> ReadConditions(FieldReader& status);
nlohmann::json EncodeConditions(const std::vector<Condition>& conditions);

}  // namespace yardmaster::api
