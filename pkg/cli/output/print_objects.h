// Writes Kubernetes objects and answers in the format that -o asks for. Thread safety: pure
// functions.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

namespace yardmaster::cli {

// yaml: one document each, after `---`. json: one v1 List. Both are what `kubectl apply -f -`
// takes.
void PrintObjects(const std::vector<nlohmann::json>& objects, const std::string& format,
                  std::ostream& out);

// The same of an answer that may be an error, which goes to `err`. Returns the exit code, 0 or 1.
int PrintObjectsOrFail(const absl::StatusOr<std::vector<nlohmann::json>>& objects,
                       const std::string& format, std::ostream& out, std::ostream& err);

// One answer. yaml, or json for every other format.
void PrintAnswer(const nlohmann::json& answer, const std::string& format, std::ostream& out);

// Columns padded to their widest cell, as kubectl prints tables. The first row is the header. With
// `colour`, cells that name a state have its colour.
void PrintTable(const std::vector<std::vector<std::string>>& rows, std::ostream& out,
                bool colour = false);

// Whether `out` is this process's standard output and a terminal that is to have colours (NO_COLOR is
// not set, TERM is not dumb).
bool WantsColour(const std::ostream& out);

}  // namespace yardmaster::cli
