#include "pkg/cli/input/read_input.h"

#include <filesystem>
#include <fstream>
#include <istream>

#include "pkg/base/status.h"
#include "pkg/base/strings.h"

namespace yardmaster::cli {

namespace {

// Without a byte order mark. Reads through istream::read, which reports a failure in the state of
// the stream instead of throwing.
absl::StatusOr<std::string> ReadToEnd(const std::string& file, std::istream& in) {
  std::string text;
  std::vector<char> block(std::size_t{1} << 16);
  do {
    in.read(block.data(), static_cast<std::streamsize>(block.size()));
    text.append(block.data(), static_cast<std::size_t>(in.gcount()));
  } while (in.good());
  if (in.bad()) {
    return absl::DataLossError(StrCat(InputName(file), ": reading failed; give a file"));
  }
  if (text.compare(0, kByteOrderMark.size(), kByteOrderMark) == 0) {
    text.erase(0, kByteOrderMark.size());
  }
  return text;
}

}  // namespace

std::string InputName(const std::string& file) { return file == "-" ? "standard input" : file; }

std::string InputNames(const std::vector<std::string>& files) {
  std::vector<std::string> names;
  for (const std::string& file : files) names.push_back(InputName(file));
  return Join(names, ", ");
}

absl::StatusOr<std::string> ReadInput(const std::string& file, std::istream& in) {
  if (file == "-") {
    if (in.eof()) {
      return absl::InvalidArgumentError(
          "standard input: is named twice and can be read once; give a file in the other place");
    }
    return ReadToEnd(file, in);
  }
  return ReadFile(file);
}

absl::StatusOr<std::string> ReadFile(const std::string& file) {
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) {
    return absl::InvalidArgumentError(StrCat(file, ": is a folder; name a file in it"));
  }
  std::ifstream stream(file, std::ios::binary);
  if (!stream) {
    return absl::NotFoundError(StrCat(file, ": cannot be read; give an existing file, or -"));
  }
  return ReadToEnd(file, stream);
}

absl::Status InFile(const absl::Status& status, const std::string& file) {
  if (status.ok()) return status;
  std::vector<std::string> lines = Split(MessageOf(status), '\n');
  for (std::string& line : lines) line = StrCat(file, ": ", line);
  return absl::Status(status.code(), Join(lines, "\n"));
}

}  // namespace yardmaster::cli
