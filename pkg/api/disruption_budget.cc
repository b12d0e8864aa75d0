#include "pkg/api/disruption_budget.h"

#include <algorithm>

#include "pkg/base/strings.h"

namespace yardmaster::api {

namespace {

constexpr std::size_t kMostSelected = 1024;
constexpr KeptMetadata kNothingKept = {[](std::string_view) { return std::size_t{0}; },
                                       [](std::string_view) { return false; }};
constexpr std::string_view kLabelOperatorNames[] = {"In", "NotIn", "Exists", "DoesNotExist"};

bool Holds(const LabelRequirement& requirement, const std::map<std::string, std::string>& labels) {
  const auto label = labels.find(requirement.key);
  const bool there = label != labels.end();
  const bool listed = there && std::find(requirement.values.begin(), requirement.values.end(),
                                         label->second) != requirement.values.end();
  switch (requirement.op) {
    case LabelOperator::kIn:
      return listed;
    case LabelOperator::kNotIn:
      return !listed;
    case LabelOperator::kExists:
      return there;
    case LabelOperator::kDoesNotExist:
      return !there;
  }
  return false;
}

}  // namespace

bool DisruptionBudget::Covers(const std::string& namespace_name,
                              const std::map<std::string, std::string>& labels) const {
  return has_selector && metadata.namespace_name == namespace_name &&
         std::all_of(requirements.begin(), requirements.end(),
                     [&](const LabelRequirement& r) { return Holds(r, labels); });
}

absl::StatusOr<DisruptionBudget> DecodeDisruptionBudget(JsonView object) {
  FieldErrors errors;
  FieldReader in(object, "", UnknownFields::kIgnore, &errors);
  DisruptionBudget budget;
  budget.metadata = ReadMetadata(in, Namespaced::kYes, &kNothingKept);
  FieldReader selector = in.Object("spec").Object("selector");
  budget.has_selector = selector.present();
  for (const auto& [key, value] : selector.StringMap("matchLabels")) {
    budget.requirements.push_back({key, LabelOperator::kIn, {value}});
  }
  for (FieldReader& expression : selector.Objects("matchExpressions")) {
    budget.requirements.push_back(
        {expression.RequiredString("key"),
         expression.Enum("operator", kLabelOperatorNames, LabelOperator::kIn),
         expression.Strings("values")});
  }
  std::size_t values = 0;
  for (const LabelRequirement& r : budget.requirements) values += 1 + r.values.size();
  if (values > kMostSelected) {
    selector.errors().Add(selector.path(), StrCat("has more than ", kMostSelected, " values"),
                          "select pods by a label that they share");
  }
  FieldReader status = in.Object("status");
  budget.disruptions_allowed = status.Int64("disruptionsAllowed", 0, INT32_MIN, INT32_MAX);
  // What it said of an older spec does not count.
  if (status.Int64("observedGeneration", 0, 0, INT64_MAX) < budget.metadata.generation) {
    budget.disruptions_allowed = 0;
  }
  if (!errors.empty()) return errors.status();
  return budget;
}

}  // namespace yardmaster::api
