// The verb that opens our gates: `release JOB|--all`. For when Yardmaster is to be taken out, or one
// job is not to wait for a place any longer. The pods go to the scheduler as they are, without a
// place, a level or paths.
//
//   --all                  every pod behind our gate, of all namespaces unless -n names one
//   -n, --namespace NS     (default: the context's)
//   --dry-run              only say what would be released
//   -o json|yaml           what was released
//
// Returns the exit code: 0 released (or there was nothing to release with --all), 1 the cluster did
// not answer, a pod could not be released, or no pod of that job waits, 2 usage. Thread safety: as
// the client.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "pkg/cli/connect.h"

namespace yardmaster::cli {

int RunReleaseCommand(const std::vector<std::string>& args, const Connector& connect,
                      std::ostream& out, std::ostream& err);

}  // namespace yardmaster::cli
