// Runs the Applier on its own thread. Watchers enqueue changes, of which only the latest per pod is
// kept; the thread updates the files and publishes its progress.
//
// Nothing is written before Begin: until the caches are filled, a pod that has not arrived yet
// would look like one that is gone, and a level has no meaning without its fabric.
//
// Thread safety: all methods from any thread, Start and Stop from one. The notice handler runs on
// the thread of the loop and must not call Stop. Lifetimes: clock, sink and what the handler uses
// outlive the loop.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "pkg/agent/plans/applier.h"
#include "pkg/base/clock.h"
#include "pkg/base/mutex.h"

namespace yardmaster::agent {

// The progress that the loop published last.
struct PlanReport {
  std::vector<rpc::PodPlanStatus> pods;
  std::int64_t writes = 0;
  std::int64_t failures = 0;
  bool begun = false;  // Begin was called and the files of earlier processes were listed
  std::int64_t stepped_at_ms = -1;  // steady time; -1: never
};

class PlanLoop {
 public:
  using NoticeHandler = std::function<void(const PodNotice&)>;

  PlanLoop(const Clock& clock, PlanSink& sink, NoticeHandler on_notice);
  ~PlanLoop();  // as Stop
  PlanLoop(const PlanLoop&) = delete;
  PlanLoop& operator=(const PlanLoop&) = delete;

  void Start();
  void Put(PodInput pod);
  void Remove(const std::string& uid);
  void SetFabric(std::optional<FabricView> fabric);
  // Call when the caches are filled.
  void Begin();
  // Processes what is enqueued already, then ends the thread.
  void Stop();

  std::shared_ptr<const PlanReport> report() const;

 private:
  struct Inbox {
    std::map<std::string, std::optional<PodInput>> pods;  // nullopt: removed
    std::optional<std::optional<FabricView>> fabric;
    bool begin = false;
  };

  void Run();
  // Waits for changes and takes them; nullopt when the loop is to end.
  std::optional<Inbox> Wait(std::optional<std::int64_t> due_in_ms);
  void Handle(Inbox inbox);
  Now now() const { return {clock_.WallMs(), clock_.SteadyMs()}; }

  const Clock& clock_;
  const NoticeHandler on_notice_;
  Applier applier_;           // the thread's alone
  bool begin_asked_ = false;  // the thread's alone
  bool begun_ = false;        // the thread's alone
  std::int64_t defects_ = 0;  // the thread's alone: runs that threw

  mutable Mutex mutex_;
  CondVar wake_;
  Inbox inbox_ ABSL_GUARDED_BY(mutex_);
  bool changed_ ABSL_GUARDED_BY(mutex_) = false;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  std::shared_ptr<const PlanReport> report_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace yardmaster::agent
