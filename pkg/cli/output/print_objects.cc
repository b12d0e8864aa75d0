#include "pkg/cli/output/print_objects.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <string_view>
#include <unistd.h>

#include "nlohmann/json.hpp"

#include "pkg/base/status.h"
#include "pkg/config/yaml.h"

namespace yardmaster::cli {

using nlohmann::json;

void PrintObjects(const std::vector<json>& objects, const std::string& format, std::ostream& out) {
  if (format == "json") {
    const json list = {{"apiVersion", "v1"}, {"kind", "List"}, {"items", objects}};
    out << list.dump(2, ' ', false, json::error_handler_t::replace) << "\n";
    return;
  }
  for (const json& object : objects) out << "---\n" << config::EmitYaml(object);
}

int PrintObjectsOrFail(const absl::StatusOr<std::vector<json>>& objects, const std::string& format,
                       std::ostream& out, std::ostream& err) {
  if (!objects.ok()) {
    err << MessageOf(objects.status()) << "\n";
    return 1;
  }
  PrintObjects(*objects, format, out);
  return 0;
}

void PrintAnswer(const json& answer, const std::string& format, std::ostream& out) {
  if (format == "yaml") {
    out << config::EmitYaml(answer);
  } else {
    out << answer.dump(2, ' ', false, json::error_handler_t::replace) << "\n";
  }
}

namespace {

// Escape sequence of a state; empty: the cell is not a state.
std::string_view ColourOf(std::string_view cell) {
  for (std::string_view good : {"Running", "Placed", "Succeeded", "free"}) {
    if (cell == good) return "\033[32m";
  }
  for (std::string_view waits : {"Waiting", "Pending", "NotNow", "in use"}) {
    if (cell == waits) return "\033[33m";
  }
  for (std::string_view bad : {"Never", "Failed", "out", "nowhere"}) {
    if (cell == bad) return "\033[31m";
  }
  return "";
}

}  // namespace

bool WantsColour(const std::ostream& out) {
  if (&out != &std::cout || isatty(STDOUT_FILENO) == 0) return false;
  const char* refused = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return (refused == nullptr || *refused == '\0') && terminal != nullptr &&
         std::string_view(terminal) != "dumb";
}

void PrintTable(const std::vector<std::vector<std::string>>& rows, std::ostream& out, bool colour) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string_view begin = colour ? ColourOf(row[c]) : "";
      line.append(begin).append(row[c]);
      if (!begin.empty()) line += "\033[0m";
      if (c + 1 < row.size()) line += std::string(widths[c] - row[c].size() + 3, ' ');
    }
    out << line << "\n";
  }
}

}  // namespace yardmaster::cli
