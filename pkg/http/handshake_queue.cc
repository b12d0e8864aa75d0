#include "pkg/http/handshake_queue.h"

#include <utility>

namespace yardmaster::http {

using Verdict = HandshakeLimiter::Verdict;

void HandshakeQueue::Add(const std::string& address, std::weak_ptr<Connection> connection,
                         Begin begin, std::int64_t now_ms) {
  MutexLock lock(mutex_);
  if (size_ >= 2 * most_) DropGone();
  const auto [line, is_new] = lines_.try_emplace(address);
  if (is_new) turns_.push_back(address);
  line->second.push_back({std::move(connection), std::move(begin), now_ms});
  ++size_;
}

std::optional<HandshakeQueue::Turn> HandshakeQueue::Next(std::int64_t now_ms) {
  MutexLock lock(mutex_);
  for (std::size_t left = turns_.size(); left > 0; --left) {
    const std::string address = std::move(turns_.front());
    turns_.pop_front();
    const auto at = lines_.find(address);
    Line& line = at->second;
    std::optional<Turn> turn;
    while (!line.empty() && !turn) {
      std::shared_ptr<Connection> connection = line.front().connection.lock();
      if (connection != nullptr) {
        const bool in_vain = now_ms - line.front().since_ms >= longest_ms_;
        const Verdict verdict = in_vain ? Verdict::kRefused : limiter_.Admit(address, now_ms);
        if (!in_vain && verdict == Verdict::kRefused) break;
        turn = Turn{std::move(connection), std::move(line.front().begin), verdict};
      }
      line.pop_front();
      --size_;
    }
    if (line.empty()) {
      lines_.erase(at);
    } else {
      turns_.push_back(address);
    }
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
  std::deque<std::string> turns;
  for (std::string& address : turns_) {
    const auto at = lines_.find(address);
    std::erase_if(at->second, [](const Waiting& one) { return one.connection.expired(); });
    size_ += at->second.size();
    if (at->second.empty()) {
      lines_.erase(at);
    } else {
      turns.push_back(std::move(address));
    }
  }
  turns_ = std::move(turns);
}

}  // namespace yardmaster::http
