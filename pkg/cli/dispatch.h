// Dispatches the verbs of `kubectl yardmaster` by one table from words to functions. Every verb has
// --help.
//
// Exit codes of all verbs: 0: answered; 1: the input is wrong or the cluster did not answer; 2:
// wrong usage. Answers go to `out`, all messages to `err`.
//
// Thread safety: one call per process.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace yardmaster::cli {

// `args`: without the name of the program. Returns the exit code.
int Dispatch(const std::vector<std::string>& args, std::istream& in, std::ostream& out,
             std::ostream& err);

}  // namespace yardmaster::cli
