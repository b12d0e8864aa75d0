// ProgressLine shows on a terminal what a verb requests from the API server, once it has waited for
// a second. The line exists only while a call is running, so it is removed before the verb prints
// anything. Watches, which always take long, show no line.
//
// Thread safety: ProgressLine from any thread; that of the client is the one of the wrapped client.
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

// Lifetimes: `out` outlives the object.
class ProgressLine {
 public:
  explicit ProgressLine(std::ostream& out) : out_(out) {}

  // Begin and end a call. Calls may overlap; the line names the one that started last.
  void Begin(const std::string& what, std::int64_t now_ms);
  void End();
  // Writes the line if it is due. The caller calls it several times a second.
  void Show(std::int64_t now_ms);

 private:
  std::ostream& out_;
  Mutex mutex_;
  std::string what_ ABSL_GUARDED_BY(mutex_);
  int calls_ ABSL_GUARDED_BY(mutex_) = 0;               // running calls
  std::int64_t began_ms_ ABSL_GUARDED_BY(mutex_) = -1;  // the first call; negative: none yet
  bool shown_ ABSL_GUARDED_BY(mutex_) = false;
};

// Returns `client` with such a line on `out`, and a thread that writes it. Lifetimes: clock,
// sleeper and `out` outlive the result.
std::unique_ptr<kube::Client> WithProgress(std::unique_ptr<kube::Client> client, std::ostream& out,
                                           const Clock& clock, kube::Sleeper& sleeper);

}  // namespace yardmaster::cli
