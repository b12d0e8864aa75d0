// The whole of a file, or of standard input where the name is "-". Thread safety: reads the file.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace yardmaster::cli {

// UTF-8's, which some programs write at the beginning of a text.
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// What errors call the input: "standard input" for "-".
std::string InputName(const std::string& file);
// The names of several, with ", " between them.
std::string InputNames(const std::vector<std::string>& files);

// Without a byte order mark. Errors: NotFound when the file cannot be opened, InvalidArgument for a
// folder, DataLoss when reading fails.
absl::StatusOr<std::string> ReadFile(const std::string& file);

// The same, or standard input. Errors: also InvalidArgument for standard input that was read
// before.
absl::StatusOr<std::string> ReadInput(const std::string& file, std::istream& in);

// The same status with the file's name before every line of its message.
absl::Status InFile(const absl::Status& status, const std::string& file);

}  // namespace yardmaster::cli
