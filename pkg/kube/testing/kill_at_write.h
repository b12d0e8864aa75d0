// Ends a process at one of its writes, as the API server sees it: that write and all later ones
// fail without an effect. Reads are answered. Thread safety: the client may be called from any
// thread. Lifetimes: the client outlives this.
#pragma once

#include <atomic>

#include "absl/status/status.h"

#include "pkg/kube/testing/fake_client.h"

namespace yardmaster::kube {

class KillAtWrite {
 public:
  // Writes are counted from 0; `nth` is the first that fails, with `killed`. Takes the place of the
  // client's hook until it ends.
  KillAtWrite(FakeClient& client, int nth,
              const absl::Status& killed = absl::CancelledError("killed"))
      : client_(client) {
    client.SetHook([this, nth, killed](const Call& call) {
      const bool reads =
          call.verb == Verb::kGet || call.verb == Verb::kList || call.verb == Verb::kWatch;
      return reads || writes_++ < nth ? absl::OkStatus() : killed;
    });
  }
  ~KillAtWrite() { client_.SetHook({}); }
  KillAtWrite(const KillAtWrite&) = delete;
  KillAtWrite& operator=(const KillAtWrite&) = delete;

  // So far, those that failed included.
  int writes() const { return writes_; }

 private:
  FakeClient& client_;
  std::atomic<int> writes_ = 0;
};

}  // namespace yardmaster::kube
