// The bind verb: binds a pod to a node for kube-scheduler, after a check against the ledger of its
// gang. For schedulers that are configured with `bindVerb`; others bind themselves.
//
// A pod of a gang is bound to its slot's host alone: for another node, and before the gang is
// committed, Bind fails. A pod that the view does not know is bound as asked. The pod's uid is part
// of the binding, so that a later pod of the same name is never bound.
//
// Thread safety: all methods from any thread. Bind waits for the API server.
#pragma once

#include "absl/status/status.h"

#include "pkg/extender/webhook/view.h"
#include "pkg/extender/webhook/wire.h"
#include "pkg/kube/client.h"

namespace yardmaster::extender {

class Binder {
 public:
  explicit Binder(kube::Client& client) : client_(client) {}

  // Errors: Unavailable when `view` is null, because nothing is known yet; FailedPrecondition when
  // the pod belongs elsewhere; else what the API server said.
  absl::Status Bind(const View* view, const BindArgs& args);

 private:
  kube::Client& client_;
};

}  // namespace yardmaster::extender
