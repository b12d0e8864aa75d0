// Reads small files of the host, mostly of sysfs. Thread safety: functions without state.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace yardmaster::agent {

// Names of a folder's entries, sorted; none when it cannot be read.
std::vector<std::string> NamesIn(const std::string& folder);
// Returns a file's first line without its end; nullopt if the file cannot be read or is empty.
std::optional<std::string> FirstLine(const std::string& path);

}  // namespace yardmaster::agent
