// Declares the verbs of `kubectl yardmaster`, one function each. docs/cli.md describes their flags
// and answers; `VERB --help` lists the flags.
//
// `args` are the arguments after the words of the verb. The answer goes to `out`, messages and
// errors to `err`. Each function returns the exit code (dispatch.h). The caller provides the
// connection to a cluster (Connector). Only drain, backup set, release and rebalance --apply change
// a cluster.
//
// Thread safety: reads the named files; otherwise that of the client.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "pkg/cli/connect.h"

namespace yardmaster::cli {

using Args = std::vector<std::string>;

// Verbs on files.
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

// Verbs on files and on a cluster.
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
// `helm test` runs it: each check is repeated until it passes or its time is over.
int RunSelftestCommand(const Args& args, const Connector& connect, std::ostream& out,
                       std::ostream& err);
int RunSupportBundleCommand(const Args& args, const Connector& connect, std::ostream& out,
                            std::ostream& err);
int RunTopCommand(const Args& args, const Connector& connect, std::ostream& out, std::ostream& err);
int RunTraceCommand(const Args& args, const Connector& connect, std::ostream& out,
                    std::ostream& err);
// If it succeeds, it returns only when a signal stops the proxy.
int RunUiCommand(const Args& args, const Connector& connect, std::ostream& out, std::ostream& err);
int RunWhyCommand(const Args& args, const Connector& connect, std::ostream& out, std::ostream& err);

}  // namespace yardmaster::cli
