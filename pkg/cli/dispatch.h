// The verbs of `kubectl yardmaster`: one table from words to functions. Every verb has --help.
//
// Exit codes of all verbs: 0 answered, 1 the input is wrong or the cluster did not answer, 2 usage.
// Answers go to `out`, everything said to people to `err`. Thread safety: none needed; one call a
// process.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace yardmaster::cli {

// `args` without the program's name.
int Dispatch(const std::vector<std::string>& args, std::istream& in, std::ostream& out,
             std::ostream& err);

}  // namespace yardmaster::cli
