// Writes Kubernetes objects and answers in the format that -o asks for. Thread safety: pure
// functions.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

namespace yardmaster::cli {

// yaml: one document each, after `---`. json: one v1 List. Both are what `kubectl apply -f -`
// takes. An error goes to `err`. Returns the exit code, 0 or 1.
int PrintObjects(const absl::StatusOr<std::vector<nlohmann::json>>& objects,
                 const std::string& format, std::ostream& out, std::ostream& err);

// One answer. yaml, or json for every other format.
void PrintAnswer(const nlohmann::json& answer, const std::string& format, std::ostream& out);

// `text` on one line: control characters, which would command a terminal, are spaces. Names,
// reasons and events hold what others wrote.
std::string OneLine(std::string_view text);

// The widest cell of every column.
std::vector<std::size_t> WidthsOf(const std::vector<std::vector<std::string>>& rows);

// One row, its cells padded to `widths`. With `colour`, cells that name a state have its colour.
void PrintRow(const std::vector<std::string>& row, const std::vector<std::size_t>& widths,
              std::ostream& out, bool colour = false);

// Columns padded to their widest cell, as kubectl prints tables. The first row is the header.
void PrintTable(const std::vector<std::vector<std::string>>& rows, std::ostream& out,
                bool colour = false);

// Whether `out` is this process's standard output and a terminal.
bool IsTerminal(const std::ostream& out);
// Whether it is one that is to have colours (NO_COLOR is not set, TERM is not dumb).
bool WantsColour(const std::ostream& out);

}  // namespace yardmaster::cli
