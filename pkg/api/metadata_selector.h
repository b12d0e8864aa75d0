// A LabelSelector of Kubernetes: matchLabels and matchExpressions. Thread safety: values and pure
// functions.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/api/field_visitor.h"

namespace yardmaster::api {

enum class SelectorOperator { kIn, kNotIn, kExists, kDoesNotExist, kGt, kLt };
inline constexpr std::string_view kSelectorOperatorNames[] = {"In",           "NotIn", "Exists",
                                                              "DoesNotExist", "Gt",    "Lt"};

// Of a Node. `Holds`: whether the value of the key, if there is one, is as required.
struct SelectorRequirement {
  std::string key;
  SelectorOperator op = SelectorOperator::kIn;
  std::vector<std::string> values;
  bool operator==(const SelectorRequirement&) const = default;
  auto operator<=>(const SelectorRequirement&) const = default;

  bool Holds(std::optional<std::string_view> value) const;
  void Describe(FieldVisitor& fields);
};

// Of an object's labels: without kGt and kLt.
struct LabelRequirement : SelectorRequirement {
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
