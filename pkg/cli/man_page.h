// The man page kubectl-yardmaster(1), made of the verbs and what their --help prints, so that it
// has every flag. `kubectl yardmaster man` prints it; packages and `make install` put it in man1.
//
// Output: man(7) macros in ASCII. The same program gives the same page: it has no date. Thread
// safety: pure functions.
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
