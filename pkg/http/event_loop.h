// An Asio context and the threads that run it: the I/O threads of one server, the threads of its
// handlers. Thread safety: context() and Post from any thread; Start, Stop and StopNow from the
// owner's thread. Lifetime: shared by everything that holds a socket, so that a socket that
// outlives the server by a moment still has its context.
#pragma once

#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace boost::asio {
class io_context;
}

namespace yardmaster::http {

class EventLoop {
 public:
  // `on_exception` is called on an I/O thread when a task threw; the thread goes on.
  explicit EventLoop(std::function<void()> on_exception);
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;
  ~EventLoop();

  boost::asio::io_context& context() { return *context_; }
  // Runs `task` on one of the threads.
  void Post(std::function<void()> task);
  // `niceness` of the threads, 0 to 19.
  void Start(int threads, int niceness = 0);
  // Waits for work in progress, and joins the threads. The owner must close sockets and timers
  // first. Not from an I/O thread.
  void Stop();
  // Joins the threads after their current tasks. Tasks that have not started are destroyed with the
  // loop.
  void StopNow();

 private:
  struct KeepRunning;

  void Run(int niceness);
  void Join();

  const std::function<void()> on_exception_;
  const std::unique_ptr<boost::asio::io_context> context_;
  std::unique_ptr<KeepRunning> keep_running_;
  std::vector<std::thread> threads_;
};

}  // namespace yardmaster::http
