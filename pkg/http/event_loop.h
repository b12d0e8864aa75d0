// The I/O threads of one server and the Asio context they run.
// Thread safety: context() from any thread; Start and Stop from the owner's thread.
// Lifetime: shared by everything that holds a socket, so that a socket that outlives the server by
// a moment still has its context.
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
  void Start(int threads);
  // Lets what is under way end, and joins the threads. The owner closes sockets and timers first,
  // else this waits for them. Not from an I/O thread.
  void Stop();

 private:
  struct KeepRunning;

  void Run();

  const std::function<void()> on_exception_;
  const std::unique_ptr<boost::asio::io_context> context_;
  std::unique_ptr<KeepRunning> keep_running_;
  std::vector<std::thread> threads_;
};

}  // namespace yardmaster::http
