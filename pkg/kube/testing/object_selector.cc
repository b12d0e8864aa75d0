#include "pkg/kube/testing/object_selector.h"

#include <algorithm>

#include "nlohmann/json.hpp"

#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/kube/object.h"

namespace yardmaster::kube {
namespace {

using nlohmann::json;

std::string_view Trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Splits at commas outside parentheses.
std::vector<std::string_view> SplitRequirements(std::string_view text) {
  std::vector<std::string_view> parts;
  std::size_t start = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '(') ++depth;
    if (i < text.size() && text[i] == ')') --depth;
    if (i == text.size() || (text[i] == ',' && depth == 0)) {
      if (std::string_view part = Trim(text.substr(start, i - start)); !part.empty()) {
        parts.push_back(part);
      }
      start = i + 1;
    }
  }
  return parts;
}

// Splits "key OP value" at the first of ==, != and =.
struct Comparison {
  std::string_view key;
  bool equal = true;
  std::string_view value;
};
bool SplitComparison(std::string_view text, Comparison& out) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) return false;
  out.equal = text[equals - 1] != '!';
  out.key = Trim(text.substr(0, out.equal ? equals : equals - 1));
  std::string_view value = text.substr(equals + 1);
  if (out.equal && !value.empty() && value.front() == '=') value.remove_prefix(1);
  out.value = Trim(value);
  return !out.key.empty();
}

absl::Status BadSelector(std::string_view text) {
  return absl::InvalidArgumentError(
      StrCat("unable to parse the selector requirement \"", text, "\""));
}

}  // namespace

absl::StatusOr<ObjectSelector> ObjectSelector::Parse(std::string_view text) {
  ObjectSelector selector;
  for (std::string_view part : SplitRequirements(text)) {
    YM_ASSIGN_OR_RETURN(Requirement requirement, ParseRequirement(part));
    selector.requirements_.push_back(std::move(requirement));
  }
  return selector;
}

absl::StatusOr<ObjectSelector::Requirement> ObjectSelector::ParseRequirement(
    std::string_view text) {
  if (text.front() == '!') {
    return Requirement{std::string(Trim(text.substr(1))), Operator::kNotExists, {}};
  }
  if (const std::size_t open = text.find('('); open != std::string_view::npos) {
    std::string_view head = Trim(text.substr(0, open));
    const bool is_notin = head.ends_with(" notin");
    if (text.back() != ')' || (!is_notin && !head.ends_with(" in"))) return BadSelector(text);
    Requirement requirement{std::string(Trim(head.substr(0, head.rfind(' ')))),
                            is_notin ? Operator::kNotIn : Operator::kIn,
                            {}};
    for (const std::string& value : Split(text.substr(open + 1, text.size() - open - 2), ',')) {
      requirement.values.emplace_back(Trim(value));
    }
    return requirement;
  }
  Comparison comparison;
  if (SplitComparison(text, comparison)) {
    return Requirement{std::string(comparison.key),
                       comparison.equal ? Operator::kIn : Operator::kNotIn,
                       {std::string(comparison.value)}};
  }
  if (text.find_first_of(" =!") != std::string_view::npos) return BadSelector(text);
  return Requirement{std::string(text), Operator::kExists, {}};
}

bool ObjectSelector::Matches(const json& object) const {
  for (const Requirement& requirement : requirements_) {
    const json* value = FindAt(object, {"metadata", "labels", requirement.key});
    const bool exists = value != nullptr && value->is_string();
    const bool listed = exists && std::find(requirement.values.begin(), requirement.values.end(),
                                            value->get<std::string>()) != requirement.values.end();
    bool holds = false;
    switch (requirement.op) {
      case Operator::kIn:
        holds = listed;
        break;
      case Operator::kNotIn:
        holds = !listed;
        break;
      case Operator::kExists:
        holds = exists;
        break;
      case Operator::kNotExists:
        holds = !exists;
        break;
    }
    if (!holds) return false;
  }
  return true;
}

absl::StatusOr<FieldSelector> FieldSelector::Parse(std::string_view text) {
  FieldSelector selector;
  for (std::string_view part : SplitRequirements(text)) {
    Comparison comparison;
    if (!SplitComparison(part, comparison)) return BadSelector(part);
    selector.requirements_.push_back(
        {Split(comparison.key, '.'), comparison.equal, std::string(comparison.value)});
  }
  return selector;
}

bool FieldSelector::Matches(const json& object) const {
  for (const Requirement& requirement : requirements_) {
    const json* at = &object;
    for (const std::string& key : requirement.path) {
      at = FindAt(*at, {key});
      if (at == nullptr) break;
    }
    const std::string value = at != nullptr && at->is_string() ? at->get<std::string>() : "";
    if ((value == requirement.value) != requirement.equal) return false;
  }
  return true;
}

}  // namespace yardmaster::kube
