// The verb `support-bundle`: writes what is needed to analyse a fault remotely into one folder.
//
// Objects of all namespaces (Fabrics, Nodes, Gangs, TrainingJobs, Pods, events), the leases of the
// namespace, and of Yardmaster's pods the logs (at most the newest 20,000 lines) and metrics of the
// last hour and the metrics now.
// What cannot be read is named in missing.txt. Secrets and ConfigMaps are not read; WithoutSecrets
// says what is left out of the others. Thread safety: pure function.
#pragma once

#include "nlohmann/json_fwd.hpp"

namespace yardmaster::cli {

// The object without what may be secret: a Pod's spec and spec.template keep what scheduling looks
// at, without environment, commands, arguments, volumes and images; a Pod's status keeps no image
// and nothing that its containers said; a Node's status has neither images nor volumes; notes of
// events are those of Yardmaster and of schedulers; a TrainingJob has no checkpoint command; labels
// and annotations that are neither Yardmaster's nor Kubernetes' lose their values; managedFields
// are dropped.
nlohmann::json WithoutSecrets(nlohmann::json object);

}  // namespace yardmaster::cli
