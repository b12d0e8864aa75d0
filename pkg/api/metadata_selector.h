// A LabelSelector of Kubernetes: matchLabels and matchExpressions. Thread safety: values and pure
// functions.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/api/field_visitor.h"

namespace yardmaster::api {

enum class LabelOperator { kIn, kNotIn, kExists, kDoesNotExist };
inline constexpr std::string_view kLabelOperatorNames[] = {"In", "NotIn", "Exists", "DoesNotExist"};

struct LabelRequirement {
  std::string key;
  LabelOperator op = LabelOperator::kIn;
  std::vector<std::string> values;
  bool operator==(const LabelRequirement&) const = default;

  void Describe(FieldVisitor& fields);
};

struct MetadataSelector {
  // All must hold; none: it selects everything.
  std::map<std::string, std::string> match_labels = {};
  std::vector<LabelRequirement> match_expressions = {};
  bool operator==(const MetadataSelector&) const = default;

  void Describe(FieldVisitor& fields);
  bool Selects(const std::map<std::string, std::string>& labels) const;
};

}  // namespace yardmaster::api
