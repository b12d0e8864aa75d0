// The whole of a file, or of standard input where the name is "-". Thread safety: reads the file.
#pragma once

#include <iosfwd>
#include <string>

#include "absl/status/statusor.h"

namespace yardmaster::cli {

// Errors: NotFound when the file cannot be opened, DataLoss when reading fails.
absl::StatusOr<std::string> ReadInput(const std::string& file, std::istream& in);

// The same status with the file's name before every line of its message.
absl::Status InFile(const absl::Status& status, const std::string& file);

}  // namespace yardmaster::cli
