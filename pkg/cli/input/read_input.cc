#include "pkg/cli/input/read_input.h"

#include <fstream>
#include <istream>
#include <iterator>
#include <vector>

#include "pkg/base/status.h"
#include "pkg/base/strings.h"

namespace yardmaster::cli {

absl::StatusOr<std::string> ReadInput(const std::string& file, std::istream& in) {
  if (file == "-") return std::string(std::istreambuf_iterator<char>(in), {});
  std::ifstream stream(file, std::ios::binary);
  if (!stream) {
    return absl::NotFoundError(StrCat(file, ": cannot be read; give an existing file, or -"));
  }
  std::string text(std::istreambuf_iterator<char>(stream), {});
  if (stream.bad()) return absl::DataLossError(StrCat(file, ": reading failed; is it a file?"));
  return text;
}

absl::Status InFile(const absl::Status& status, const std::string& file) {
  if (status.ok()) return status;
  std::vector<std::string> lines = Split(MessageOf(status), '\n');
  for (std::string& line : lines) line = StrCat(file, ": ", line);
  return absl::Status(status.code(), Join(lines, "\n"));
}

}  // namespace yardmaster::cli
