#include "pkg/api/condition.h"

#include <algorithm>
#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/api/status_text.h"
#include "pkg/base/clock.h"

namespace yardmaster::api {

namespace {
constexpr std::string_view kStatusNames[] = {"True", "False", "Unknown"};
}  // namespace

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

std::vector<Condition> ReadConditions(FieldReader& status) {
  std::vector<Condition> out;
  for (FieldReader& in : status.Objects("conditions", {.max_entries = 16, .map_key = "type"})) {
    Condition c;
    c.type = in.RequiredString("type", TextRule{64});
    c.status = in.Enum("status", kStatusNames, ConditionStatus::kUnknown);
    c.reason = in.String("reason", TextRule{128});
    c.message = in.String("message", kMessage);
    c.observed_generation = in.Int64("observedGeneration", 0, 0, INT64_MAX);
    c.transition_ms = in.TimeMs("lastTransitionTime");
    in.Close();
    out.push_back(std::move(c));
  }
  return out;
}

nlohmann::json EncodeConditions(const std::vector<Condition>& conditions) {
  nlohmann::json out = nlohmann::json::array();
  for (const Condition& c : conditions) {
    out.push_back({{"type", c.type},
                   {"status", kStatusNames[static_cast<std::size_t>(c.status)]},
                   {"reason", c.reason},
                   {"message", c.message},
                   {"observedGeneration", c.observed_generation},
                   {"lastTransitionTime", FormatTime(c.transition_ms)}});
  }
  return out;
}

}  // namespace yardmaster::api
