// Webhook answers the filter, prioritize and preempt calls of kube-scheduler: it decodes the
// request body, finds the pod's gang and rank, decides on the current View and encodes the answer.
// No call plans, writes or blocks. The bind call is in binder.h.
//
// Thread safety: Publish and all calls from any thread; a call uses one View throughout.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

#include "pkg/base/mutex.h"
#include "pkg/extender/webhook/decisions.h"
#include "pkg/extender/webhook/view.h"

namespace yardmaster::extender {

class Webhook {
 public:
  struct Options {
    // Filter and Preempt accept every node, and Prioritize prefers none.
    bool passes_all = false;
    // Pods that state their parallelism but were created without the gate are ordinary pods
    // (gather/gatherer.h).
    bool gated_only = false;
  };
  Webhook() = default;
  explicit Webhook(Options options) : options_(options) {}

  // Sets the View for later calls. Before the first Publish, Filter returns an error for every pod,
  // Prioritize returns 0 for every node and Preempt keeps no candidate (unless `passes_all`): pods
  // stay pending and do not take the place of a gang.
  void Publish(std::shared_ptr<const View> view);
  bool ready() const { return view() != nullptr; }

  // Errors: InvalidArgument if the body is not a request of the scheduler.
  absl::StatusOr<std::string> Filter(std::string_view body) const;
  absl::StatusOr<std::string> Prioritize(std::string_view body) const;
  // Returns the candidates that Filter would accept when the victims are gone. Evicting a member of
  // a gang does not help, because its slot stays promised.
  absl::StatusOr<std::string> Preempt(std::string_view body) const;

  // Returns the current View, or null.
  std::shared_ptr<const View> view() const;

 private:
  const Options options_ = {};
  mutable Mutex mutex_;  // held only to copy a pointer
  std::shared_ptr<const View> view_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace yardmaster::extender
