#include "pkg/http/event_loop.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <sys/resource.h>
#include <unistd.h>
#include <utility>

namespace yardmaster::http {

namespace asio = boost::asio;

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

void EventLoop::Start(int threads, int niceness) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this, niceness] { Run(niceness); });
}

void EventLoop::Run(int niceness) {
  // On Linux a thread has a niceness of its own. Where it cannot be set, a flood costs more.
  if (niceness > 0) ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), niceness);
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
