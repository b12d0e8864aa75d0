// Abbreviates lists of names, and groups warnings about many objects.
//
// Thread safety: pure functions, except for printing.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace yardmaster::cli {

// Returns "p00s00h[000-127,130]": names that differ only in a number of one width at their end are
// written as ranges; the others are separated by commas. REQUIRES: `names` are sorted.
std::string HostNames(const std::vector<std::string>& names);

// Combines warnings "Kind NAME: text" of equal kind and text, in the order of the first of them:
// "Nodes h[000-220]: text", or "Nodes a, b, c and 218 more: text" if that is long.
std::vector<std::string> Grouped(const std::vector<std::string>& warnings);

// Prints "warning: ..." for each of them, grouped.
void PrintWarnings(const std::vector<std::string>& warnings, std::ostream& err);

}  // namespace yardmaster::cli
