// `kubectl yardmaster simulate --fabric FILE --trace DIR --policy NAME [--seed N] -o json`: replays
// a trace on a fabric (pkg/sim/trace_run.h) and reports per job and for the cluster.
//
//   --fabric FILE   a Fabric, with or without its Nodes; repeatable. The cluster's when left out
//   --trace DIR     job.csv, worker.csv and, where it is there, topo.csv of the Lingjun trace; without
//                   job.csv arrivals are generated from model-gpus.csv
//   --policy NAME   crux (default) published ecmp sincronia varys taccl cassini
//   --jobs N        how many jobs are generated, or at most read (default 500)
//   --seed N        Random seed (default 1)
//   --scatter P     probability that a job's next host is anywhere (default 0.3)
//   --fragmented P  probability that a job gets half hosts (default 0)
//   --pcie-gbps, --nvlink-gbps G   links inside hosts (pkg/sim/host_links.h)
//
// Returns the exit code: 0 answered, 1 the input is wrong or the cluster did not answer, 2 usage. Progress
// goes to `err`. Thread safety: reads the files named, else as the client.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "pkg/cli/connect.h"

namespace yardmaster::cli {

int RunSimulateCommand(const std::vector<std::string>& args, const Connector& connect,
                       std::istream& in, std::ostream& out, std::ostream& err);

}  // namespace yardmaster::cli
