// What the host's files say, those of sysfs before all. Thread safety: pure functions of the file
// system.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace yardmaster::agent {

// Names of a folder's entries, sorted; none when it cannot be read.
std::vector<std::string> NamesIn(const std::string& folder);
// A file's first line, without its end; nothing when it cannot be read or is empty.
std::optional<std::string> FirstLine(const std::string& path);

}  // namespace yardmaster::agent
