// On a terminal, a line that says what a verb asks the API server for, once it has been at it for a
// second. The line is gone before the verb prints anything, because it stands only while a call is
// under way; watches are long by nature and show none.
//
// Thread safety: ProgressLine from any thread; the client is as the one it wraps.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>

#include "pkg/base/clock.h"
#include "pkg/base/mutex.h"
#include "pkg/kube/client.h"
#include "pkg/kube/timing.h"

namespace yardmaster::cli {

// `out` must outlive the object.
class ProgressLine {
 public:
  explicit ProgressLine(std::ostream& out) : out_(out) {}

  // A call begins, and has ended. Calls may overlap; the line names the one that began last.
  void Begin(const std::string& what, std::int64_t now_ms);
  void End();
  // Writes the line if it is due; to be called some times a second.
  void Show(std::int64_t now_ms);

 private:
  std::ostream& out_;
  Mutex mutex_;
  std::string what_ ABSL_GUARDED_BY(mutex_);
  int calls_ ABSL_GUARDED_BY(mutex_) = 0;               // under way
  std::int64_t began_ms_ ABSL_GUARDED_BY(mutex_) = -1;  // the first call; negative: none yet
  bool shown_ ABSL_GUARDED_BY(mutex_) = false;
};

// `client`, with such a line on `out` and a thread that writes it. Clock, sleeper and `out` must
// outlive it.
std::unique_ptr<kube::Client> WithProgress(std::unique_ptr<kube::Client> client, std::ostream& out,
                                           const Clock& clock, kube::Sleeper& sleeper);

}  // namespace yardmaster::cli
