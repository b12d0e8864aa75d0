// Writes Kubernetes objects and answers in the format of -o.
//
// Thread safety: pure functions.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

namespace yardmaster::cli {

// Prints objects. yaml: one document each, after `---`. json: one v1 List. `kubectl apply -f -`
// accepts both. An error goes to `err`. Returns the exit code, 0 or 1.
int PrintObjects(const absl::StatusOr<std::vector<nlohmann::json>>& objects,
                 const std::string& format, std::ostream& out, std::ostream& err);

// Prints one answer as yaml, or as json for every other format.
void PrintAnswer(const nlohmann::json& answer, const std::string& format, std::ostream& out);

// Returns `text` on one line, with spaces for control characters, which a terminal would interpret.
// Names, reasons and events contain text by others.
std::string OneLine(std::string_view text);

// Returns the width of the widest cell of every column.
std::vector<std::size_t> WidthsOf(const std::vector<std::vector<std::string>>& rows);

// Prints one row, with cells padded to `widths`. `colour`: whether cells that name a state have its
// colour.
void PrintRow(const std::vector<std::string>& row, const std::vector<std::size_t>& widths,
              std::ostream& out, bool colour = false);

// Prints rows with columns padded to their widest cell, as kubectl does. The first row is the
// header.
void PrintTable(const std::vector<std::vector<std::string>>& rows, std::ostream& out,
                bool colour = false);

// Whether `out` is this process's standard output and a terminal.
bool IsTerminal(const std::ostream& out);
// Whether it is a terminal that should have colours (NO_COLOR is not set, TERM is not dumb).
bool WantsColour(const std::ostream& out);

}  // namespace yardmaster::cli
