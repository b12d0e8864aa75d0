// The verbs of `kubectl yardmaster`, one function each. docs/cli.md has their flags and answers,
// `VERB --help` the flags.
//
// `args` are those after the words of the verb. The answer goes to `out`, messages and errors to
// `err`. Returns the exit code (dispatch.h). How a cluster is reached is the caller's: a
// Connector. Only drain, backup set and release change a cluster. Thread safety: reads the files
// named, else as the client.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "pkg/cli/connect.h"

namespace yardmaster::cli {

using Args = std::vector<std::string>;

// Of files.
int RunCompletionCommand(const Args& args, std::istream& in, std::ostream& out, std::ostream& err);
int RunCruxCommand(const Args& args, std::istream& in, std::ostream& out, std::ostream& err);
int RunFabricImportCommand(const Args& args, std::istream& in, std::ostream& out,
                           std::ostream& err);
int RunFabricNamesCommand(const Args& args, const Connector& connect, std::istream& in,
                          std::ostream& out, std::ostream& err);
int RunFabricRenderCommand(const Args& args, std::istream& in, std::ostream& out,
                           std::ostream& err);
int RunFabricTrustCommand(const Args& args, std::istream& in, std::ostream& out, std::ostream& err);
int RunFabricVerifyCommand(const Args& args, std::istream& in, std::ostream& out,
                           std::ostream& err);
int RunHashCommand(const Args& args, std::istream& in, std::ostream& out, std::ostream& err);
int RunPathCommand(const Args& args, std::istream& in, std::ostream& out, std::ostream& err);
int RunSparesCommand(const Args& args, std::istream& in, std::ostream& out, std::ostream& err);

// Of files and of a cluster.
int RunCostCommand(const Args& args, const Connector& connect, std::istream& in, std::ostream& out,
                   std::ostream& err);
int RunPlanCommand(const Args& args, const Connector& connect, std::istream& in, std::ostream& out,
                   std::ostream& err);
int RunRebalanceCommand(const Args& args, const Connector& connect, std::istream& in,
                        std::ostream& out, std::ostream& err);
int RunSimulateCommand(const Args& args, const Connector& connect, std::istream& in,
                       std::ostream& out, std::ostream& err);

// Of a cluster.
int RunBackupListCommand(const Args& args, const Connector& connect, std::ostream& out,
                         std::ostream& err);
int RunBackupSetCommand(const Args& args, const Connector& connect, std::ostream& out,
                        std::ostream& err);
int RunDrainCommand(const Args& args, const Connector& connect, std::ostream& out,
                    std::ostream& err);
int RunExplainCommand(const Args& args, const Connector& connect, std::ostream& out,
                      std::ostream& err);
int RunFabricShowCommand(const Args& args, const Connector& connect, std::ostream& out,
                         std::ostream& err);
int RunGetCommand(const Args& args, const Connector& connect, std::ostream& out, std::ostream& err);
int RunObserveCommand(const Args& args, const Connector& connect, std::ostream& out,
                      std::ostream& err);
int RunReleaseCommand(const Args& args, const Connector& connect, std::ostream& out,
                      std::ostream& err);
// What `helm test` runs: each check is tried again until it passes or its time is over.
int RunSelftestCommand(const Args& args, const Connector& connect, std::ostream& out,
                       std::ostream& err);
int RunSupportBundleCommand(const Args& args, const Connector& connect, std::ostream& out,
                            std::ostream& err);
int RunTopCommand(const Args& args, const Connector& connect, std::ostream& out, std::ostream& err);
int RunTraceCommand(const Args& args, const Connector& connect, std::ostream& out,
                    std::ostream& err);
// Does not return when it succeeds, until the proxy is stopped by a signal.
int RunUiCommand(const Args& args, const Connector& connect, std::ostream& out, std::ostream& err);
int RunWhyCommand(const Args& args, const Connector& connect, std::ostream& out, std::ostream& err);

}  // namespace yardmaster::cli
