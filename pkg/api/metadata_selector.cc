#include "pkg/api/metadata_selector.h"

#include <algorithm>
#include <span>

#include "pkg/api/metadata.h"
#include "pkg/base/strings.h"

namespace yardmaster::api {

namespace {

constexpr int kMaxRequirements = 64;

}  // namespace

bool SelectorRequirement::Holds(std::optional<std::string_view> value) const {
  const bool listed = value && std::find(values.begin(), values.end(), *value) != values.end();
  switch (op) {
    case SelectorOperator::kIn:
      return listed;
    case SelectorOperator::kNotIn:
      return !listed;
    case SelectorOperator::kExists:
      return value.has_value();
    case SelectorOperator::kDoesNotExist:
      return !value.has_value();
    case SelectorOperator::kGt:
    case SelectorOperator::kLt:
      break;
  }
  if (!value || values.size() != 1) return false;
  const auto have = ParseNumber<std::int64_t>(*value);
  const auto want = ParseNumber<std::int64_t>(values[0]);
  if (!have || !want) return false;
  return op == SelectorOperator::kGt ? *have > *want : *have < *want;
}

// An operator that is not known selects nothing, so that a host is never thought fit that is not.
void SelectorRequirement::Describe(FieldVisitor& fields) {
  std::int64_t problems = 0;
  fields.Check([&](FieldReader& in) { problems = in.errors().added(); });
  fields.Text("key", key, kQualifiedName,
              Required("Label, or metadata.name in matchFields.").Always());
  fields.Enum("operator", op, kSelectorOperatorNames, RequiredByServer("How values are compared."));
  fields.Texts("values", values, {4096}, kObjectName, "Values.", "A value.");
  fields.Check([&](FieldReader& in) {
    if (in.errors().added() == problems) return;
    op = SelectorOperator::kIn;
    values.clear();
  });
}

void LabelRequirement::Describe(FieldVisitor& fields) {
  fields.Text("key", key, kQualifiedName,
              Required("Key of a label, for example kubernetes.io/metadata.name."));
  fields.Enum(
      "operator", op, std::span(kSelectorOperatorNames).first(4),
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
                       return Find(labels, label.first.c_str()) == std::string_view(label.second);
                     }) &&
         std::all_of(
             match_expressions.begin(), match_expressions.end(),
             [&](const LabelRequirement& r) { return r.Holds(Find(labels, r.key.c_str())); });
}

}  // namespace yardmaster::api
