// Many names in few words, and warnings about many objects in one line. Pure, but for printing.
//
// Thread safety: pure functions.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace yardmaster::cli {

// "p00s00h[000-127,130]": names that are equal up to a number of one width at their end, by ranges;
// names that are not are listed with commas. `names` are in order.
std::string HostNames(const std::vector<std::string>& names);

// Warnings "Kind NAME: text" of one kind and text as one, in the order of the first of them: "Nodes
// h[000-220]: text", and where that is long "Nodes a, b, c and 218 more: text".
std::vector<std::string> Grouped(const std::vector<std::string>& warnings);

// "warning: ..." for each of them, grouped.
void PrintWarnings(const std::vector<std::string>& warnings, std::ostream& err);

}  // namespace yardmaster::cli
