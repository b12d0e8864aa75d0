#include "pkg/http/testing/fake_connection_transport.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "gtest/gtest.h"

namespace yardmaster::http {

void FakeConnectionTransport::ClientSends(std::string_view bytes) {
  incoming_ += bytes;
  Run();
}

void FakeConnectionTransport::ClientCloses() {
  incoming_ended_ = true;
  Run();
}

void FakeConnectionTransport::Run() {
  while (RunOne()) {
  }
}

void FakeConnectionTransport::Advance(std::int64_t ms) {
  Run();
  const std::int64_t target = now_ms_ + ms;
  while (deadline_ms_ && *deadline_ms_ <= target && !closed_) {
    now_ms_ = *deadline_ms_;
    deadline_ms_.reset();
    on_deadline_();
    Run();
  }
  now_ms_ = target;
}

bool FakeConnectionTransport::RunOne() {
  std::function<void()> task;
  {
    MutexLock lock(mutex_);
    if (!tasks_.empty()) {
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
  }
  if (task) {
    task();
    return true;
  }
  if (write_ && !hold_writes_) {
    PendingWrite write = *std::exchange(write_, std::nullopt);
    written_ += write.head;
    written_ += write.body;
    write.callback(true);
    return true;
  }
  if (discard_ && incoming_ended_) {
    std::exchange(discard_, nullptr)();
    return true;
  }
  return DeliverRead();
}

bool FakeConnectionTransport::DeliverRead() {
  if (!read_ || (incoming_.empty() && !incoming_ended_)) return false;
  PendingRead read = *std::exchange(read_, std::nullopt);
  const std::size_t bytes = std::min(read.capacity, incoming_.size());
  std::memcpy(read.out, incoming_.data(), bytes);
  incoming_.erase(0, bytes);
  read.callback(bytes);
  return true;
}

void FakeConnectionTransport::Post(std::function<void()> task) {
  MutexLock lock(mutex_);
  tasks_.push_back(std::move(task));
}

void FakeConnectionTransport::Handshake(std::function<void(bool)> callback) {
  if (hold_handshake_) {
    handshake_ = std::move(callback);
    return;
  }
  Post([callback = std::move(callback), ok = handshake_ok_] { callback(ok); });
}

void FakeConnectionTransport::ReleaseHandshake() {
  hold_handshake_ = false;
  if (handshake_) Handshake(std::exchange(handshake_, nullptr));
}

void FakeConnectionTransport::Read(char* out, std::size_t capacity,
                                   std::function<void(std::size_t)> callback) {
  EXPECT_FALSE(read_ || write_ || discard_) << "two operations at once";
  EXPECT_GT(capacity, 0U);
  read_ = PendingRead{out, capacity, std::move(callback)};
}

void FakeConnectionTransport::Write(std::string_view head, std::string_view body,
                                    std::function<void(bool)> callback) {
  EXPECT_FALSE(read_ || write_ || discard_) << "two operations at once";
  EXPECT_FALSE(write_closed_);
  write_ = PendingWrite{head, body, std::move(callback)};
}

void FakeConnectionTransport::CloseWrite(std::function<void()> callback) {
  EXPECT_FALSE(read_ || write_ || discard_) << "two operations at once";
  write_closed_ = true;
  Post(std::move(callback));
}

void FakeConnectionTransport::Discard(std::function<void()> callback) {
  EXPECT_FALSE(read_ || write_ || discard_) << "two operations at once";
  discard_ = std::move(callback);
}

void FakeConnectionTransport::Close() {
  closed_ = true;
  read_.reset();
  write_.reset();
  discard_ = nullptr;
  handshake_ = nullptr;
}

}  // namespace yardmaster::http
