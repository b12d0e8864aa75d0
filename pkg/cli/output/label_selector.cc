#include "pkg/cli/output/label_selector.h"

#include <utility>

#include "pkg/base/strings.h"

namespace yardmaster::cli {

namespace {

std::string Trimmed(std::string text) {
  while (!text.empty() && text.front() == ' ') text.erase(0, 1);
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

}  // namespace

absl::StatusOr<LabelSelector> LabelSelector::Parse(std::string_view text) {
  LabelSelector selector;
  if (text.empty()) return selector;
  for (const std::string& part : Split(std::string(text), ',')) {
    const std::string item = Trimmed(part);
    Requirement next;
    if (const std::size_t at = item.find("!="); at != std::string::npos) {
      next = {Kind::kDiffers, Trimmed(item.substr(0, at)), Trimmed(item.substr(at + 2))};
    } else if (const std::size_t equals = item.find('='); equals != std::string::npos) {
      const std::size_t value = item.find_first_not_of('=', equals);
      next = {Kind::kEquals, Trimmed(item.substr(0, equals)),
              value == std::string::npos ? "" : Trimmed(item.substr(value))};
    } else if (!item.empty() && item.front() == '!') {
      next = {Kind::kAbsent, Trimmed(item.substr(1)), ""};
    } else {
      next = {Kind::kExists, item, ""};
    }
    if (next.key.empty() || next.key.find_first_of(" ()") != std::string::npos) {
      return absl::InvalidArgumentError(
          StrCat("label selector: \"", item, "\" is not key=value, key!=value, key or !key"));
    }
    selector.requirements_.push_back(std::move(next));
  }
  return selector;
}

bool LabelSelector::Matches(const std::map<std::string, std::string>& labels) const {
  for (const Requirement& requirement : requirements_) {
    const auto at = labels.find(requirement.key);
    const bool has = at != labels.end();
    const bool equal = has && at->second == requirement.value;
    if (requirement.kind == Kind::kEquals && !equal) return false;
    if (requirement.kind == Kind::kDiffers && equal) return false;
    if (requirement.kind == Kind::kExists && !has) return false;
    if (requirement.kind == Kind::kAbsent && has) return false;
  }
  return true;
}

}  // namespace yardmaster::cli
