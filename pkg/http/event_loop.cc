#include "pkg/http/event_loop.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cstdint>
#include <cstdlib>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

namespace yardmaster::http {

namespace asio = boost::asio;

namespace {

// The kernel's struct sched_attr, in its first version.
struct SchedulingAttributes {
  std::uint32_t size = 48;
  std::uint32_t policy = 0;  // the ordinary one
  std::uint64_t flags = 0;
  std::int32_t niceness = 0;
  std::uint32_t priority = 0;
  std::uint64_t slice_ns = 0;
  std::uint64_t deadline_ns = 0;
  std::uint64_t period_ns = 0;
};
static_assert(sizeof(SchedulingAttributes) == 48);

}  // namespace

void AskForShortSlices() {
  if (getenv("YM_NO_SLICE")) return;
  SchedulingAttributes attributes;
  attributes.niceness = ::getpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()));
  attributes.slice_ns = 100'000;  // the shortest there is
  ::syscall(SYS_sched_setattr, 0, &attributes, 0U);
}

struct EventLoop::KeepRunning {
  explicit KeepRunning(asio::io_context& context) : guard(asio::make_work_guard(context)) {}
  asio::executor_work_guard<asio::io_context::executor_type> guard;
};

EventLoop::EventLoop(std::function<void()> on_exception)
    : on_exception_(std::move(on_exception)),
      context_(std::make_unique<asio::io_context>()),
      keep_running_(std::make_unique<KeepRunning>(*context_)) {}

EventLoop::~EventLoop() = default;

void EventLoop::Post(std::function<void()> task) { asio::post(*context_, std::move(task)); }

void EventLoop::Start(int threads, Scheduling scheduling) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this, scheduling] { Run(scheduling); });
}

void EventLoop::Run(Scheduling scheduling) {
  // On Linux a thread has a niceness of its own. Where it cannot be set, a flood costs more.
  if (scheduling.niceness > 0) {
    ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), scheduling.niceness);
  }
  if (scheduling.short_slices) AskForShortSlices();
  for (;;) {
    try {
      context_->run();
      return;
    } catch (...) {
      // Bad luck of one connection (out of memory, say) must not stop the others.
      on_exception_();
    }
  }
}

void EventLoop::Stop() {
  keep_running_.reset();
  Join();
}

void EventLoop::StopNow() {
  context_->stop();
  Join();
}

void EventLoop::Join() {
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

}  // namespace yardmaster::http
