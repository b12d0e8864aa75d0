// `kubectl yardmaster plan --offline -f PATH... [--paths] [-o json|yaml|table]`: what the planner
// would do with these manifests. docs say what is read; see manifests.h.
//
//   --offline            plan from files only (required; the cluster is not asked)
//   -f FILE|DIR|-        manifests, may be repeated
//   --paths              also the source port and links of every connection
//   -o FORMAT            json (default), yaml or table
//   --seed N             of what is random (default 1)
//   --max-steps N        search steps before an exact search is cut
//
// Returns the exit code: 0 answered; 1 the input is wrong. When only jobs contradict themselves the
// report is still written, with them as Never, and the exit code is 1; 2 usage. Thread safety:
// reads the files named, else pure.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace yardmaster::cli {

int RunPlanCommand(const std::vector<std::string>& args, std::istream& in, std::ostream& out,
                   std::ostream& err);

}  // namespace yardmaster::cli
