// Writes Kubernetes objects and answers in the format that -o asks for. Thread safety: pure
// functions.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "nlohmann/json_fwd.hpp"

namespace yardmaster::cli {

// yaml: one document each, after `---`. json: one v1 List. Both are what `kubectl apply -f -`
// takes.
void PrintObjects(const std::vector<nlohmann::json>& objects, const std::string& format,
                  std::ostream& out);

// Columns padded to their widest cell, as kubectl prints tables. The first row is the header.
void PrintTable(const std::vector<std::vector<std::string>>& rows, std::ostream& out);

}  // namespace yardmaster::cli
