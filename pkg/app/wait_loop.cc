#include "pkg/app/wait_loop.h"

#include "pkg/app/leadership.h"
#include "pkg/base/run_once.h"
#include "pkg/base/status.h"

namespace yardmaster::app {

void WaitLoop::Run() {
  while (const auto key = queue_.Get()) {
    if (!leads_()) {
      queue_.AddAfter(*key, kFollowerRetryMs);
      queue_.Done(*key);
      continue;
    }
    const auto turn = [&] {
      RunResult result{.done = 1};
      result.Fail(*key, Contain([&]() -> absl::Status {
        YM_ASSIGN_OR_RETURN(const auto again_ms, controller_.Reconcile(*key));
        if (again_ms) result.Again(*again_ms);
        return absl::OkStatus();
      }));
      return result;
    };
    const RunResult result = loop_.RunOnce(turn, *key);
    if (!result.ok()) {
      queue_.AddRateLimited(*key);
    } else {
      queue_.Forget(*key);
      if (result.again_ms) queue_.AddAfter(*key, *result.again_ms);
    }
    queue_.Done(*key);
  }
}

}  // namespace yardmaster::app
