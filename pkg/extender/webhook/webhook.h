// The calls of kube-scheduler that decide, as HTTP bodies in, bodies out: decode, look up the pod's
// gang and rank, decide on the current View, encode. No call plans, writes or waits; binder.h has
// the one that does.
//
// Thread safety: Publish and all calls from any thread; a call keeps the View it began with.
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
    // Nothing is decided: Filter and Preempt let every node pass, and Prioritize prefers none.
    bool passes_all = false;
    // Pods that state their parallelism and came without our gate are ordinary ones
    // (gather/gatherer.h).
    bool gated_only = false;
  };
  Webhook() = default;
  explicit Webhook(Options options) : options_(options) {}

  // Before the first Publish, Filter answers every pod with an error, Prioritize gives 0 to every
  // node and Preempt keeps no candidate, so that pods stay pending instead of going where a gang
  // will be.
  void Publish(std::shared_ptr<const View> view);
  bool ready() const { return view() != nullptr; }

  // Errors: InvalidArgument when the body is not what the scheduler sends.
  absl::StatusOr<std::string> Filter(std::string_view body) const;
  absl::StatusOr<std::string> Prioritize(std::string_view body) const;
  // Keeps the candidates that Filter would accept once the victims are gone. Members of gangs are
  // no victims that help: their slots stay promised.
  absl::StatusOr<std::string> Preempt(std::string_view body) const;

  // The View published last, or null.
  std::shared_ptr<const View> view() const;

 private:
  const Options options_ = {};
  mutable Mutex mutex_;  // held for the copy of a pointer only
  std::shared_ptr<const View> view_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace yardmaster::extender
