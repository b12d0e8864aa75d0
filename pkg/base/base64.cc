#include "pkg/base/base64.h"

#include "absl/strings/escaping.h"

#include "pkg/base/strings.h"

namespace yardmaster {

std::string Base64Encode(std::string_view bytes) {
  return absl::Base64Escape(absl::string_view(bytes.data(), bytes.size()));
}

absl::StatusOr<std::string> Base64Decode(std::string_view text) {
  constexpr std::string_view kSpaces = " \n\r\t";
  constexpr std::string_view kAllowed =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=";
  std::string digits;
  digits.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (kSpaces.find(text[at]) != std::string_view::npos) continue;
    // absl would take some others, too.
    if (kAllowed.find(text[at]) == std::string_view::npos) {
      return absl::InvalidArgumentError(StrCat("not base64: unexpected character at offset ", at));
    }
    digits.push_back(text[at]);
  }
  std::string bytes;
  if (digits.size() % 4 != 0 || !absl::Base64Unescape(absl::string_view(digits), &bytes)) {
    return absl::InvalidArgumentError("not base64: the length or the padding is wrong");
  }
  return bytes;
}

}  // namespace yardmaster
