#include "pkg/api/metadata_selector.h"

#include <algorithm>

namespace yardmaster::api {

namespace {

constexpr int kMaxRequirements = 64;

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

void LabelRequirement::Describe(FieldVisitor& fields) {
  fields.Text("key", key, kQualifiedName,
              Required("Key of a label, for example kubernetes.io/metadata.name."));
  fields.Enum(
      "operator", op, kLabelOperatorNames,
      Required("How the label's value is compared.", "write In, NotIn, Exists or DoesNotExist"));
  fields.Texts("values", values, {kMaxRequirements}, kLabelValue, "Values.", "A value.");
}

void MetadataSelector::Describe(FieldVisitor& fields) {
  fields.TextMap("matchLabels", match_labels, kMaxRequirements, kLabelValue,
                 "Labels that it has with these values.");
  fields.Objects("matchExpressions", match_expressions, {kMaxRequirements},
                 "Requirements that hold for its labels.", "One requirement.");
}

bool MetadataSelector::Selects(const std::map<std::string, std::string>& labels) const {
  return std::all_of(match_labels.begin(), match_labels.end(),
                     [&](const auto& label) {
                       const auto there = labels.find(label.first);
                       return there != labels.end() && there->second == label.second;
                     }) &&
         std::all_of(match_expressions.begin(), match_expressions.end(),
                     [&](const LabelRequirement& r) { return Holds(r, labels); });
}

}  // namespace yardmaster::api
