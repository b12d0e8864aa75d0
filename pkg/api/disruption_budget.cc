#include "pkg/api/disruption_budget.h"

#include "pkg/api/field_codec.h"
#include "pkg/base/strings.h"

namespace yardmaster::api {

namespace {

constexpr std::size_t kMaxSelected = 1024;
constexpr KeptMetadata kNothingKept = {[](std::string_view) { return std::size_t{0}; },
                                       [](std::string_view) { return false; }, 0};

}  // namespace

bool DisruptionBudget::Covers(const std::string& namespace_name,
                              const std::map<std::string, std::string>& labels) const {
  return selector && metadata.namespace_name == namespace_name && selector->Selects(labels);
}

absl::StatusOr<DisruptionBudget> DecodeDisruptionBudget(JsonView object) {
  FieldErrors errors;
  FieldReader in(object, "", UnknownFields::kIgnore, &errors);
  DisruptionBudget budget;
  budget.metadata = ReadMetadata(in, Namespaced::kYes, &kNothingKept);
  FieldReader selector = in.Object("spec").Object("selector");
  if (selector.present()) {
    budget.selector = DecodeObject<MetadataSelector>(selector);
    std::size_t values = budget.selector->match_labels.size();
    for (const LabelRequirement& r : budget.selector->match_expressions) {
      values += 1 + r.values.size();
    }
    if (values > kMaxSelected) {
      errors.Add(selector.path(), StrCat("has more than ", kMaxSelected, " values"),
                 "select pods by a label that they share");
    }
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
