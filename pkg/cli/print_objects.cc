#include "pkg/cli/print_objects.h"

#include <algorithm>
#include <ostream>

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

void PrintTable(const std::vector<std::vector<std::string>>& rows, std::ostream& out) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      line += row[c];
      if (c + 1 < row.size()) line += std::string(widths[c] - row[c].size() + 3, ' ');
    }
    out << line << "\n";
  }
}

}  // namespace yardmaster::cli
