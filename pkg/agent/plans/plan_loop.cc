#include "pkg/agent/plans/plan_loop.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "pkg/base/run_once.h"

namespace yardmaster::agent {

namespace {

// Wall clocks can be set: an expiry is noticed at most this long after it came.
constexpr std::int64_t kLongestSleepMs = 30'000;
constexpr std::int64_t kAdoptRetryMs = 1'000;

}  // namespace

PlanLoop::PlanLoop(const Clock& clock, PlanSink& sink, NoticeHandler on_notice)
    : clock_(clock),
      on_notice_(std::move(on_notice)),
      applier_(sink),
      report_(std::make_shared<PlanReport>()) {}

PlanLoop::~PlanLoop() { Stop(); }

void PlanLoop::Start() {
  thread_ = std::thread([this] { Run(); });
}

void PlanLoop::Put(PodInput pod) {
  const MutexLock lock(mutex_);
  std::string uid = pod.uid;
  inbox_.pods.insert_or_assign(std::move(uid), std::move(pod));
  changed_ = true;
  wake_.notify_one();
}

void PlanLoop::Remove(const std::string& uid) {
  const MutexLock lock(mutex_);
  inbox_.pods.insert_or_assign(uid, std::nullopt);
  changed_ = true;
  wake_.notify_one();
}

void PlanLoop::SetFabric(std::optional<FabricView> fabric) {
  const MutexLock lock(mutex_);
  inbox_.fabric = std::move(fabric);
  changed_ = true;
  wake_.notify_one();
}

void PlanLoop::Begin() {
  const MutexLock lock(mutex_);
  inbox_.begin = true;
  changed_ = true;
  wake_.notify_one();
}

void PlanLoop::Stop() {
  {
    const MutexLock lock(mutex_);
    stop_ = true;
    wake_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

std::shared_ptr<const PlanReport> PlanLoop::report() const {
  const MutexLock lock(mutex_);
  return report_;
}

std::optional<PlanLoop::Inbox> PlanLoop::Wait(std::optional<std::int64_t> due_in_ms) {
  MutexLock lock(mutex_);
  const auto sleep =
      std::chrono::milliseconds(std::min(due_in_ms.value_or(kLongestSleepMs), kLongestSleepMs));
  wake_.wait_for(lock, sleep,
                 [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return changed_ || stop_; });
  if (stop_ && !changed_) return std::nullopt;
  changed_ = false;
  return std::exchange(inbox_, {});
}

void PlanLoop::Run() {
  std::optional<std::int64_t> due;
  while (std::optional<Inbox> inbox = Wait(due)) {
    const absl::Status handled = Contain([&] { Handle(*std::move(inbox)); });
    defects_ += handled.ok() ? 0 : 1;
    due = std::nullopt;
    if (begun_) {
      due = applier_.DueInMs(now());
    } else if (begin_asked_) {
      due = kAdoptRetryMs;
    }
  }
}

void PlanLoop::Handle(Inbox inbox) {
  if (inbox.fabric.has_value()) applier_.SetFabric(*std::move(inbox.fabric));
  for (auto& [uid, pod] : inbox.pods) {
    if (pod.has_value()) {
      applier_.Put(*std::move(pod));
    } else {
      applier_.Remove(uid);
    }
  }
  begin_asked_ |= inbox.begin;
  // A folder that cannot be listed yet delays no file.
  if (begin_asked_ && !begun_) begun_ = applier_.AdoptFiles().ok();

  std::vector<PodNotice> notices;
  if (begin_asked_) notices = applier_.Step(now());
  auto report = std::make_shared<PlanReport>();
  report->pods = applier_.Status();
  report->writes = applier_.writes();
  report->failures = applier_.failures() + defects_;
  report->begun = begun_;
  report->stepped_at_ms = clock_.SteadyMs();
  {
    const MutexLock lock(mutex_);
    report_ = std::move(report);
  }
  for (const PodNotice& notice : notices) on_notice_(notice);
}

}  // namespace yardmaster::agent
