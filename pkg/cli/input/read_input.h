// Reads a whole file, or standard input if the name is "-".
//
// Thread safety: reads the file; no shared state.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace yardmaster::cli {

// The byte order mark of UTF-8, which some programs write at the start of a text.
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// Returns the name of the input in errors: "standard input" for "-".
std::string InputName(const std::string& file);
// Returns several names, separated by ", ".
std::string InputNames(const std::vector<std::string>& files);

// Returns the text without a byte order mark. Errors: NotFound if the file cannot be opened,
// InvalidArgument for a folder, DataLoss if reading fails.
absl::StatusOr<std::string> ReadFile(const std::string& file);

// Like ReadFile, also for standard input. Errors: also InvalidArgument if standard input was read
// before.
absl::StatusOr<std::string> ReadInput(const std::string& file, std::istream& in);

// Returns the status with the file's name before every line of its message.
absl::Status InFile(const absl::Status& status, const std::string& file);

}  // namespace yardmaster::cli
