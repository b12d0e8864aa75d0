// WaitLoop is the operator's thread for jobs of other controllers that wait suspended
// (operator/waiting/wait_controller.h). It reconciles them one after the other, after a change that
// concerns the job or when the controller has requested it.
//
//   - An exception is a failure of that job.
//   - A failed reconcile is repeated after 50 ms, doubling up to 30 s.
//   - While this process does not lead, jobs wait.
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

  // The job of this key may have work to do.
  void Add(const std::string& key) { queue_.Add(key); }
  // Reconciles jobs until ShutDown.
  void Run();
  void ShutDown() { queue_.ShutDown(); }

 private:
  op::WaitController& controller_;
  const std::function<bool()> leads_;
  WorkQueue queue_;
  metrics::Loop loop_;
};

}  // namespace yardmaster::app
