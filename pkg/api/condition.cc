#include "pkg/api/condition.h"

#include <algorithm>
#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/api/field_codec.h"
#include "pkg/api/status_text.h"

namespace yardmaster::api {

bool SetCondition(std::vector<Condition>& conditions, Condition condition, std::int64_t now_ms) {
  // Kubernetes keeps whole seconds; a finer time here would differ from what is read back.
  condition.transition_ms = now_ms / 1000 * 1000;
  condition.message = CutStatusText(std::move(condition.message));
  const auto it = std::find_if(conditions.begin(), conditions.end(),
                               [&](const Condition& c) { return c.type == condition.type; });
  if (it == conditions.end()) {
    conditions.push_back(std::move(condition));
    return true;
  }
  if (it->status == condition.status) condition.transition_ms = it->transition_ms;
  const bool changed = *it != condition;
  *it = std::move(condition);
  return changed;
}

const Condition* FindCondition(const std::vector<Condition>& conditions, std::string_view type) {
  for (const Condition& condition : conditions) {
    if (condition.type == type) return &condition;
  }
  return nullptr;
}

bool IsTrue(const std::vector<Condition>& conditions, std::string_view type) {
  const Condition* condition = FindCondition(conditions, type);
  return condition != nullptr && condition->status == ConditionStatus::kTrue;
}

void ConditionsField(FieldVisitor& status, std::vector<Condition>& conditions) {
  status.Objects("conditions", conditions, {.max_entries = 16, .map_key = "type"},
                 About("What is true of this object now, one entry per type.").Always(),
                 "One condition.");
}

std::vector<Condition> ReadConditions(FieldReader& status) {
  std::vector<Condition> out;
  DecodeFields(status, [&](FieldVisitor& fields) { ConditionsField(fields, out); });
  return out;
}

nlohmann::json EncodeConditions(const std::vector<Condition>& conditions) {
  return EncodeObjects(conditions);
}

}  // namespace yardmaster::api
