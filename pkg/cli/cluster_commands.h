// The verbs that look at a cluster: `get [jobs|segments|hosts]`, `explain JOB|node/NAME|pod/NAME`,
// `why HOST`.
// They only read.
//
//   -n, --namespace NS     the jobs of one namespace (default: the context's)
//   -A, --all-namespaces   get jobs: of all (the default of plain `get`)
//   -l, --selector SEL     get jobs: those whose labels match
//   -w, --watch            get: go on, and print rows that change
//   -o wide|json|yaml|name|jsonpath=TEMPLATE   get; explain and why know json and yaml
//   --kubeconfig FILE, --context NAME   which cluster, as kubectl has it
//
// How a cluster is reached is the caller's: a Connector. Returns the exit code: 0 answered, 1 the
// cluster did not answer or the job does not exist, 2 usage. Thread safety: as the client.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "pkg/cli/connect.h"

namespace yardmaster::cli {

int RunGetCommand(const std::vector<std::string>& args, const Connector& connect, std::ostream& out,
                  std::ostream& err);
int RunExplainCommand(const std::vector<std::string>& args, const Connector& connect,
                      std::ostream& out, std::ostream& err);
int RunWhyCommand(const std::vector<std::string>& args, const Connector& connect, std::ostream& out,
                  std::ostream& err);

}  // namespace yardmaster::cli
