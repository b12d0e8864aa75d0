// The verb `support-bundle`: writes what is needed to analyse a fault remotely into one folder.
//
//   support-bundle [--to FOLDER] [-n yardmaster-system]
//
// Objects (Fabrics, Nodes, Gangs, TrainingJobs, pods with GPUs, events, leases), and of our pods logs and metrics of the
// last hour and the metrics now. Left out: Secrets, ConfigMaps, and of every pod template environment, commands, arguments, volumes,
// images' credentials and annotations that are not ours. Thread safety: as the client.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "nlohmann/json_fwd.hpp"

#include "pkg/cli/connect.h"

namespace yardmaster::cli {

// The object without what may be secret: pod specs (in Pods and templates) keep what scheduling looks at; labels
// and annotations of other people lose their values; managedFields are dropped.
nlohmann::json WithoutSecrets(nlohmann::json object);

int RunSupportBundleCommand(const std::vector<std::string>& args, const Connector& connect,
                            std::ostream& out, std::ostream& err);

}  // namespace yardmaster::cli
