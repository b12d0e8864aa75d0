// A Sleeper on a FakeClock. In kAdvance mode every sleep moves the clock and returns at once; in
// kManual mode it lasts until Advance has moved the clock far enough.
// Thread safety: all methods from any thread.
#pragma once

#include <set>
#include <vector>

#include "pkg/base/clock.h"
#include "pkg/base/mutex.h"
#include "pkg/kube/timing.h"

namespace yardmaster::kube {

class FakeSleeper final : public Sleeper {
 public:
  enum class Mode { kAdvance, kManual };
  // `clock` must outlive the sleeper. In kManual mode move it through Advance only.
  FakeSleeper(FakeClock& clock, Mode mode) : clock_(clock), mode_(mode) {}

  bool Sleep(std::int64_t ms, std::stop_token stop) override;

  void Advance(std::int64_t ms);
  // Blocks until `count` threads sleep and none of them is due.
  void WaitForSleepers(std::size_t count);
  // Every sleep so far, in ms.
  std::vector<std::int64_t> slept() const;

 private:
  FakeClock& clock_;
  const Mode mode_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::multiset<std::int64_t> due_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::int64_t> slept_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace yardmaster::kube
