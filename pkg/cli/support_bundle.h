// Implements the verb `support-bundle`: writes what is needed to analyse a fault remotely into one
// folder:
//
//   - objects of all namespaces: Fabrics, Nodes, Gangs, TrainingJobs, Pods, events;
//   - the leases of the namespace;
//   - of Yardmaster's pods the logs (at most the newest 20,000 lines), the metrics of the last hour
//     and the present metrics.
//
// missing.txt names what could not be read. Secrets and ConfigMaps are not read. WithoutSecrets
// defines what is left out of the other objects.
//
// Thread safety: pure function.
#pragma once

#include "nlohmann/json_fwd.hpp"

namespace yardmaster::cli {

// Returns the object without what may be secret:
//
//   - The spec of a Pod and spec.template keep what matters for scheduling. Environment, commands,
//     arguments, volumes and images are left out.
//   - The status of a Pod has no image and no message of its containers.
//   - The status of a Node has no images and no volumes.
//   - Only notes of events by Yardmaster and by schedulers are kept.
//   - A TrainingJob has no checkpoint command.
//   - Labels and annotations lose their values, unless they are Yardmaster's or Kubernetes'. So
//     does kubectl's last-applied-configuration.
//   - managedFields are dropped.
nlohmann::json WithoutSecrets(nlohmann::json object);

}  // namespace yardmaster::cli
