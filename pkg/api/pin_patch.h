// The one JSON patch that releases a gang's pod: annotate its slot, pin it to the slot's host by
// matchFields metadata.name, let it onto promised hosts and onto a backup host if it goes to one,
// and remove our gate. The operator puts the network plan into the same patch; the extender makes
// it for pods whose plan is written already, or that are released without one.
//
// The patch tests the pod's uid and our gate first, so that it can hit neither a pod of the same
// name that came later nor a pod whose gates changed, or that another process has released; it then
// fails as a whole. Thread safety: pure functions.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

#include "pkg/api/outcome_json.h"
#include "pkg/api/pod.h"

namespace yardmaster::api {

struct Pin {
  std::string uid;              // of the pod that the slot is for
  std::string host;             // empty: the pod names its host itself, it is not pinned
  std::string slot_annotation;  // the text of yardmaster.dev/slot
  bool backup_host = false;     // the pod needs to tolerate the backup taint
};

// Of a pod that gets `slot` in the Gang of that name.
Pin PinOf(const Pod& pod, const std::string& gang_name, const AssignmentEntry& slot,
          bool backup_host);

// `pod` as the API server returned it. Errors: FailedPrecondition when the pod is another one of
// that name, has no gate of ours, or is bound already.
absl::StatusOr<nlohmann::json> PinAndReleasePatch(const nlohmann::json& pod, const Pin& pin);
// The same, from what is known of the pod without reading it again, with further annotations.
// nullopt: the pod has to be read, because it has required node affinity, into whose terms the host
// goes, or because it is known as bound, without our gate, or with another uid. What others may
// have changed since is either tested by the patch or refused by the API server, which lets a gated
// pod's affinity and tolerations grow and never shrink. The plan of the gang that the pod's network
// plan is for is tested, too: another process may have written a later one.
std::optional<nlohmann::json> ReleasePatchOf(
    const Pod& pod, const Pin& pin, const std::map<std::string, std::string>& annotations = {});
// For a pod that came without the gate, whose affinity cannot change any more (filter alone keeps
// it on its slot): slot and tolerations. Errors: FailedPrecondition when the pod is another one of
// that name or is bound already.
absl::StatusOr<nlohmann::json> AdmitPatch(const nlohmann::json& pod, const Pin& pin);

// For a pod that is released without a place: the reason, and our gate goes. Errors:
// FailedPrecondition when the pod has no gate of ours.
absl::StatusOr<nlohmann::json> OpenGatePatch(const nlohmann::json& pod, const std::string& why);

}  // namespace yardmaster::api
