// From the flags of a verb to a client of the cluster they name. Verbs take a Connector, so that
// tests give them a cluster of their own. Thread safety: call a Connector once, before other
// threads start (it sets the trusted certificates of the process).
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

// The manager's name in metadata.managedFields of what people write by a verb.
inline constexpr char kFieldManager[] = "kubectl-yardmaster";

struct ClusterFlags {
  std::string kubeconfig;
  std::string context;
};

struct ClusterConnection {
  std::unique_ptr<kube::Client> client;
  std::string default_namespace = "default";
  std::int64_t now_ms = 0;  // when it was made
};

using Connector = std::function<absl::StatusOr<ClusterConnection>(const ClusterFlags&)>;

// Clock and sleeper must outlive the connection.
Connector ClusterConnector(const Clock& clock, kube::Sleeper& sleeper);

}  // namespace yardmaster::cli
