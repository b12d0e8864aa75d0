#include "pkg/cli/output/node_names.h"

#include <algorithm>
#include <map>
#include <ostream>
#include <utility>

#include "pkg/base/strings.h"

namespace yardmaster::cli {

namespace {

// A name up to the number at its end, and that number's digits.
struct NumberedName {
  std::string stem;
  std::string digits;
};

NumberedName Numbered(const std::string& name) {
  constexpr std::size_t kMaxDigits = 9;  // fits an int
  std::size_t at = name.size();
  while (at > 0 && name.size() - at < kMaxDigits && name[at - 1] >= '0' && name[at - 1] <= '9')
    --at;
  return {name.substr(0, at), name.substr(at)};
}

// Ranges of the numbers of names with one stem and one width; they ascend.
std::string Ranges(const std::vector<std::string>& digits) {
  std::string out;
  for (std::size_t first = 0; first < digits.size();) {
    std::size_t last = first;
    while (last + 1 < digits.size() && std::stoi(digits[last + 1]) == std::stoi(digits[last]) + 1)
      ++last;
    out += StrCat(out.empty() ? "" : ",", digits[first],
                  last > first ? StrCat("-", digits[last]) : std::string());
    first = last + 1;
  }
  return out;
}

// "Node", "n1" and "text" of "Node n1: text"; no kind: it is not of that form.
struct About {
  std::string kind;
  std::string name;
  std::string text;
};

About AboutOf(const std::string& warning) {
  const std::size_t space = warning.find(' ');
  const std::size_t colon = warning.find(": ");
  const bool is_about = space != std::string::npos && colon != std::string::npos && space < colon &&
                        warning.find(' ', space + 1) == colon + 1;
  if (!is_about) return {"", "", warning};
  return {warning.substr(0, space), warning.substr(space + 1, colon - space - 1),
          warning.substr(colon + 2)};
}

// The names in a line that people read to its end.
std::string SomeNames(std::vector<std::string> names) {
  constexpr std::size_t kLongest = 80;
  constexpr std::size_t kShown = 3;
  std::sort(names.begin(), names.end());
  std::string all = HostNames(names);
  if (all.size() <= kLongest || names.size() <= kShown) return all;
  const std::size_t more = names.size() - kShown;
  names.resize(kShown);
  return StrCat(Join(names, ", "), " and ", more, " more");
}

}  // namespace

std::string HostNames(const std::vector<std::string>& names) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < names.size();) {
    const NumberedName first = Numbered(names[i]);
    std::vector<std::string> digits;
    std::size_t end = i;
    for (; end < names.size(); ++end) {
      const NumberedName next = Numbered(names[end]);
      if (next.stem != first.stem || next.digits.size() != first.digits.size()) break;
      digits.push_back(next.digits);
    }
    const bool alone = digits.size() == 1 || first.digits.empty();
    if (alone) end = i + 1;
    parts.push_back(alone ? names[i] : StrCat(first.stem, "[", Ranges(digits), "]"));
    i = end;
  }
  return Join(parts, ",");
}

std::vector<std::string> Grouped(const std::vector<std::string>& warnings) {
  std::map<std::pair<std::string, std::string>, std::size_t> group_of;  // by kind and text
  std::vector<About> groups;
  std::vector<std::vector<std::string>> names;
  for (const std::string& warning : warnings) {
    About about = AboutOf(warning);
    const auto [at, is_new] = group_of.try_emplace({about.kind, about.text}, groups.size());
    if (is_new) names.emplace_back();
    names[at->second].push_back(about.name);
    if (is_new) groups.push_back(std::move(about));
  }
  std::vector<std::string> out;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const About& about = groups[g];
    if (about.kind.empty()) {
      out.push_back(about.text);
    } else if (names[g].size() == 1) {
      out.push_back(StrCat(about.kind, " ", about.name, ": ", about.text));
    } else {
      out.push_back(StrCat(about.kind, "s ", SomeNames(names[g]), ": ", about.text));
    }
  }
  return out;
}

void PrintWarnings(const std::vector<std::string>& warnings, std::ostream& err) {
  for (const std::string& warning : Grouped(warnings)) err << "warning: " << warning << "\n";
}

}  // namespace yardmaster::cli
