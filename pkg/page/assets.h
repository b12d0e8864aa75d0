// Returns the files of the page, which are built from ui/ and embedded at compile time.
//
// Thread safety: immutable.
#pragma once

#include <string_view>
#include <vector>

namespace yardmaster::page {

struct Asset {
  std::string_view name;  // "app.js"
  std::string_view text;
};

// By name; index.html is among them.
const std::vector<Asset>& Assets();

}  // namespace yardmaster::page
