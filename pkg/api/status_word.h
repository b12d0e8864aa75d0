// Words of a status that explain and decide nothing, such as reasons. In a cluster, a newer version
// may have written one that this one does not know; the object is used all the same. Thread safety:
// pure function.
#pragma once

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include "pkg/api/field_reader.h"

namespace yardmaster::api {

// As FieldReader::Enum, but another word is `fallback` without an error where the reader is not
// strict.
template <typename E, std::size_t N>
E ReadWord(FieldReader& object, std::string_view key, const std::string_view (&names)[N],
           E fallback) {
  if (object.strict()) return object.Enum(key, names, fallback);
  const std::string word = object.String(key);
  const auto* const found = std::find(std::begin(names), std::end(names), word);
  return found == std::end(names) ? fallback : static_cast<E>(found - std::begin(names));
}

}  // namespace yardmaster::api
