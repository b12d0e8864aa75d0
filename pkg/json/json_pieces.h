// Cuts the text of a JSON object or list into the texts of its members or elements, so that they
// can be parsed one after the other: what a parser takes then follows from the largest of them and
// not from their sum.
//
// Only brackets, quotes, colons and commas are looked at. JSON is cut where it should be. Of a text
// that is not JSON some pieces may be handed over before false is returned, and pieces may be no
// JSON. Complexity: linear; nothing is allocated. Thread safety: pure functions.
#pragma once

#include <string_view>

#include "absl/functional/function_ref.h"

namespace yardmaster {

// `key` is what stands between its quotes, with its escapes. False: `object` is no object.
bool ForEachMemberText(std::string_view object,
                       absl::FunctionRef<void(std::string_view key, std::string_view value)> call);
// False: `list` is no list.
bool ForEachElementText(std::string_view list,
                        absl::FunctionRef<void(std::string_view value)> call);

}  // namespace yardmaster
