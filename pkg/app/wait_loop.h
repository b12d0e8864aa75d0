// The operator's thread for jobs of other controllers that wait suspended
// (operator/waiting/wait_controller.h): it takes their turns one after the other, each when
// something that concerns the job has changed, or when the controller has asked for it. What a turn
// throws is a failure of that job. A turn that fails comes again after 50 ms, which doubles up to
// 30 s. While this process does not lead, jobs wait.
//
// Thread safety: Add and ShutDown from any thread, Run from one. Lifetimes: everything passed in
// outlives the loop.
#pragma once

#include <functional>
#include <string>

#include "pkg/base/clock.h"
#include "pkg/base/work_queue.h"
#include "pkg/metrics/loop.h"
#include "pkg/operator/waiting/wait_controller.h"

namespace yardmaster::app {

class WaitLoop {
 public:
  WaitLoop(op::WaitController& controller, const Clock& clock, metrics::Registry& registry,
           const metrics::Logger& log, std::function<bool()> leads)
      : controller_(controller),
        leads_(std::move(leads)),
        queue_(clock),
        loop_("waiting", registry, log) {}

  // Something may have to be done for the job of this key.
  void Add(const std::string& key) { queue_.Add(key); }
  // Takes turns until ShutDown.
  void Run();
  void ShutDown() { queue_.ShutDown(); }

 private:
  op::WaitController& controller_;
  const std::function<bool()> leads_;
  WorkQueue queue_;
  metrics::Loop loop_;
};

}  // namespace yardmaster::app
