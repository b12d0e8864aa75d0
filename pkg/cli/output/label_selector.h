// LabelSelector implements label selectors as kubectl's -l has them: "app=x,tier!=db,ready,!old".
//
// Thread safety: values.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace yardmaster::cli {

class LabelSelector {
 public:
  // Errors: InvalidArgument, with the requirement. Sets ("key in (a,b)") are not supported.
  static absl::StatusOr<LabelSelector> Parse(std::string_view text);
  // An empty selector matches everything.
  bool Matches(const std::map<std::string, std::string>& labels) const;

 private:
  enum class Kind { kEquals, kDiffers, kExists, kAbsent };
  struct Requirement {
    Kind kind = Kind::kExists;
    std::string key;
    std::string value;
  };
  std::vector<Requirement> requirements_;
};

}  // namespace yardmaster::cli
