// Texts of a status, as long as the schemas of our CRDs allow (maxLength 4096). One that is longer
// would have the API server refuse the whole status, and with it the reason that the text is about:
// refusals by admission policies and messages of cloud providers have any length. Thread safety:
// pure function.
#pragma once

#include <cstddef>
#include <string>

namespace yardmaster::api {

inline constexpr std::size_t kMaxStatusTextBytes = 4096;

// The beginning of `text`, without a cut character at its end.
std::string CutStatusText(std::string text);

}  // namespace yardmaster::api
