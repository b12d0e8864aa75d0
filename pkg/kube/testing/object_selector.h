// Label and field selectors as the API server reads them, for the in-memory server of tests.
// Thread safety: values and pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

namespace yardmaster::kube {

// "a=b,c!=d,e in (x, y),f notin (z),g,!h" over metadata.labels. All must hold.
class ObjectSelector {
 public:
  static absl::StatusOr<ObjectSelector> Parse(std::string_view text);
  bool Matches(const nlohmann::json& object) const;

 private:
  enum class Operator { kIn, kNotIn, kExists, kNotExists };
  struct Requirement {
    std::string key;
    Operator op;
    std::vector<std::string> values;
  };
  static absl::StatusOr<Requirement> ParseRequirement(std::string_view text);
  std::vector<Requirement> requirements_;
};

// "spec.nodeName=n1,status.phase!=Failed": dotted paths to strings; what is missing is "". (The
// API server knows only some paths per type; this one knows all.)
class FieldSelector {
 public:
  static absl::StatusOr<FieldSelector> Parse(std::string_view text);
  bool Matches(const nlohmann::json& object) const;

 private:
  struct Requirement {
    std::vector<std::string> path;
    bool equal;
    std::string value;
  };
  std::vector<Requirement> requirements_;
};

}  // namespace yardmaster::kube
