// `kubectl yardmaster plan [-f PATH...]`: what the planner would do, in a cluster as it is now with
// these manifests on top (cluster_overlay.h), or with the manifests alone. It only reads the
// cluster. manifests.h says which kinds are read.
//
//   -f FILE|DIR|-        manifests, may be repeated; none: what waits in the cluster
//   --offline            plan from files only (the cluster is not asked)
//   -n, --namespace NS   of manifests that name none (default: the context's)
//   --kubeconfig FILE, --context NAME   which cluster, as kubectl has it
//   --diff               also what the manifests change in the cluster's plan
//   --paths              also the source port and links of every connection
//   -o FORMAT            json (default), yaml or table
//   --seed N             Random seed (default 1)
//   --max-steps N        search steps before an exact search is cut
//   --avoid-contention   as the extender with this flag
//
// Returns the exit code: 0 answered; 1 the input is wrong or the cluster did not answer. When only
// jobs contradict themselves the report is still written, with them as Never, and the exit code is
// 1 (jobs that stand in the cluster and were not given do not count); 2 usage. Thread safety: reads
// the files named, else as the client.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "pkg/cli/connect.h"

namespace yardmaster::cli {

int RunPlanCommand(const std::vector<std::string>& args, const Connector& connect, std::istream& in,
                   std::ostream& out, std::ostream& err);

}  // namespace yardmaster::cli
