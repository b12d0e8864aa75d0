#include "pkg/cli/output/print_objects.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <unistd.h>

#include "nlohmann/json.hpp"

#include "pkg/cli/flags.h"
#include "pkg/cli/output/terminal.h"
#include "pkg/config/yaml.h"

namespace yardmaster::cli {

using nlohmann::json;

int PrintObjects(const absl::StatusOr<std::vector<json>>& objects, const std::string& format,
                 std::ostream& out, std::ostream& err) {
  if (!objects.ok()) return Fail(objects.status(), err);
  if (format == "json") {
    PrintAnswer({{"apiVersion", "v1"}, {"kind", "List"}, {"items", *objects}}, format, out);
  } else {
    for (const json& object : *objects) out << "---\n" << config::EmitYaml(object);
  }
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
  for (std::string_view waits : {"Waiting", "Pending", "Resizing", "NotNow", "in use"}) {
    if (cell == waits) return "\033[33m";
  }
  for (std::string_view bad : {"Never", "Failed", "out", "nowhere"}) {
    if (cell == bad) return "\033[31m";
  }
  return "";
}

}  // namespace

bool IsTerminal(const std::ostream& out) {
  return &out == &std::cout && isatty(STDOUT_FILENO) != 0;
}

bool WantsColour(const std::ostream& out) {
  if (!IsTerminal(out)) return false;
  const char* refused = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return (refused == nullptr || *refused == '\0') && terminal != nullptr &&
         std::string_view(terminal) != "dumb";
}

std::string OneLine(std::string_view text) {
  std::string out(text);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto byte = static_cast<unsigned char>(out[i]);
    // U+0080 to U+009F are C2 80 to C2 9F in UTF-8.
    const bool high = byte >= 0x80 && byte < 0xA0 && i > 0 && out[i - 1] == '\xC2';
    if (byte < 0x20 || byte == 0x7F || high) out[i] = ' ';
    if (high) out[i - 1] = ' ';
  }
  return out;
}

std::vector<std::size_t> WidthsOf(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  return widths;
}

void PrintRow(const std::vector<std::string>& row, const std::vector<std::size_t>& widths,
              std::ostream& out, bool colour) {
  // Empty cells at the end are left out, so that no line ends in blanks.
  std::size_t cells = row.size();
  while (cells > 1 && row[cells - 1].empty()) --cells;
  for (std::size_t c = 0; c < cells; ++c) {
    const std::string_view begin = colour ? ColourOf(row[c]) : "";
    if (!begin.empty()) WriteControl(out, begin);
    out << OneLine(row[c]);
    if (!begin.empty()) WriteControl(out, "\033[0m");
    if (c + 1 == cells) break;
    const std::size_t width = c < widths.size() ? widths[c] : 0;
    out << std::string(std::max(width, row[c].size()) - row[c].size() + 3, ' ');
  }
  out << "\n";
}

void PrintTable(const std::vector<std::vector<std::string>>& rows, std::ostream& out, bool colour) {
  const std::vector<std::size_t> widths = WidthsOf(rows);
  for (const auto& row : rows) PrintRow(row, widths, out, colour);
}

}  // namespace yardmaster::cli
