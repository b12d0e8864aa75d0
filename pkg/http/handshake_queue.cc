#include "pkg/http/handshake_queue.h"

#include <utility>

namespace yardmaster::http {

using Verdict = HandshakeLimiter::Verdict;

void HandshakeQueue::Add(const std::string& address, std::weak_ptr<Connection> connection,
                         Begin begin, std::int64_t now_ms) {
  MutexLock lock(mutex_);
  if (size_ >= 2 * most_) DropGone();
  lines_.At(address).push_back({std::move(connection), std::move(begin), now_ms});
  ++size_;
}

std::optional<HandshakeQueue::Turn> HandshakeQueue::Next(std::int64_t now_ms) {
  MutexLock lock(mutex_);
  for (std::size_t left = lines_.turns.size(); left > 0; --left) {
    const std::string address = lines_.turns.front();
    Line& line = lines_.At(address);
    std::optional<Turn> turn;
    while (!line.empty() && !turn) {
      std::shared_ptr<Connection> connection = line.front().connection.lock();
      if (connection != nullptr) {
        const bool expired = now_ms - line.front().since_ms >= longest_ms_;
        const Verdict verdict = expired ? Verdict::kRefused : limiter_.Admit(address, now_ms);
        if (!expired && verdict == Verdict::kRefused) break;
        turn = Turn{std::move(connection), std::move(line.front().begin), verdict};
      }
      line.pop_front();
      --size_;
    }
    lines_.EndTurn(address);
    if (turn) return turn;
  }
  return std::nullopt;
}

std::size_t HandshakeQueue::size() const {
  MutexLock lock(mutex_);
  return size_;
}

void HandshakeQueue::DropGone() {
  size_ = 0;
  const std::deque<std::string> addresses = lines_.turns;
  for (const std::string& address : addresses) {
    Line& line = lines_.At(address);
    std::erase_if(line, [](const Waiting& one) { return one.connection.expired(); });
    size_ += line.size();
    lines_.DropIfEmpty(address);
  }
}

}  // namespace yardmaster::http
