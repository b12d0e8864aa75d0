// Generates the man page kubectl-yardmaster(1) from the verbs and their --help, so that it has
// every flag. `kubectl yardmaster man` prints it; packages and `make install` install it in man1.
//
// Output: man(7) macros in ASCII, without a date, so that the same program gives the same page.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace yardmaster::cli {

struct ManVerb {
  std::string words;    // "fabric render"
  std::string summary;  // one line
  std::string help;     // what --help prints
};

std::string ManPage(std::string_view version, const std::vector<ManVerb>& verbs);

}  // namespace yardmaster::cli
