// Connects to the cluster that the flags of a verb name. Verbs get a Connector, so that tests can
// provide their own cluster.
//
// Thread safety: call a Connector once, before other threads start (it sets the trusted
// certificates of the process).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

#include "pkg/base/clock.h"
#include "pkg/kube/client.h"
#include "pkg/kube/timing.h"

namespace yardmaster::cli {

// The name in metadata.managedFields of writes by a verb.
inline constexpr char kFieldManager[] = "kubectl-yardmaster";

struct ClusterFlags {
  std::string kubeconfig;
  std::string context;
};

struct ClusterConnection {
  std::unique_ptr<kube::Client> client;
  std::string default_namespace = "default";
  std::int64_t now_ms = 0;  // time of the connection
};

using Connector = std::function<absl::StatusOr<ClusterConnection>(const ClusterFlags&)>;

// Lifetimes: clock and sleeper outlive the connection.
Connector ClusterConnector(const Clock& clock, kube::Sleeper& sleeper);

}  // namespace yardmaster::cli
