// Binder binds a pod to a node for schedulers that are configured with `bindVerb`, after it has
// checked the plan of the pod's gang.
//
//   - A pod of a gang is bound only to the host of its slot. For another node, and before the gang
//     has a place, Bind fails. Pods of a core PodGroup that kube-scheduler places are bound as
//     requested.
//   - A pod that the view does not know is bound as requested.
//   - The binding names the pod's uid, so that another pod of the same name is not bound.
//
// Thread safety: all methods from any thread. Bind blocks until the API server answers.
#pragma once

#include "absl/status/status.h"

#include "pkg/extender/webhook/view.h"
#include "pkg/extender/webhook/wire.h"
#include "pkg/kube/client.h"

namespace yardmaster::extender {

class Binder {
 public:
  explicit Binder(kube::Client& client) : client_(client) {}

  // Errors: Unavailable if `view` is null, before the cluster was read; FailedPrecondition if the
  // pod belongs on another node; otherwise those of the API server.
  absl::Status Bind(const View* view, const BindArgs& args);

 private:
  kube::Client& client_;
};

}  // namespace yardmaster::extender
