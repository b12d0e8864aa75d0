// `kubectl yardmaster crux -f CASE -o json`: asks the network planner about a case written by hand.
//
//   -f FILE|-            the case, JSON or YAML
//   -o json              the only format
//   --policy NAME        crux (default) published ecmp sincronia varys taccl cassini exact
//   --seed N             Random seed (default 1)
//   --budget N           work of policy crux, in simulated events (default: the operator's)
//   --window-seconds S   the window utilisation is measured in (default: 100 iterations of the
//                        slowest job)
//
// Returns the exit code: 0 answered, 1 the input is wrong, 2 usage. The answer goes to `out`,
// everything said to people to `err`. Thread safety: reads the file named, else pure.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace yardmaster::cli {

int RunCruxCommand(const std::vector<std::string>& args, std::istream& in, std::ostream& out,
                   std::ostream& err);

}  // namespace yardmaster::cli
