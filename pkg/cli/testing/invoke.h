// Runs the program from its arguments to its output. For tests only.
//
// Thread safety: that of Dispatch.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "pkg/cli/dispatch.h"

namespace yardmaster::cli {

struct Invocation {
  int code = 0;
  std::string out;
  std::string err;
};

inline Invocation Invoke(const std::vector<std::string>& args, const std::string& input = "") {
  std::istringstream in(input);
  std::ostringstream out, err;
  const int code = Dispatch(args, in, out, err);
  return {code, out.str(), err.str()};
}

}  // namespace yardmaster::cli
