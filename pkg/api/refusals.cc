#include "pkg/api/refusals.h"

#include <algorithm>
#include <tuple>

#include "pkg/base/strings.h"

namespace yardmaster::api {

namespace {
constexpr std::int64_t kFirstMs = 60'000;
constexpr std::int64_t kLongestMs = 3'600'000;
constexpr std::int64_t kRememberedMs = 86'400'000;
constexpr std::size_t kMaxMessage = 500;

// Ended `after_ms` ago, or was written by a process whose clock was ahead.
bool IsForgotten(const HostRefusal& refusal, std::int64_t now_ms,
                 std::int64_t after_ms = kRememberedMs) {
  return refusal.until_ms < now_ms - after_ms || refusal.until_ms > now_ms + 2 * kLongestMs;
}

bool IsOf(const HostRefusal& refusal, int rank, const std::string& host) {
  return refusal.rank == rank && refusal.host == host;
}

bool IsInForce(const HostRefusal& refusal, std::int64_t now_ms) {
  return refusal.until_ms > now_ms && !IsForgotten(refusal, now_ms);
}

}  // namespace

bool IsRefused(const GangStatus& status, int rank, const std::string& host, std::int64_t now_ms) {
  return std::any_of(status.refusals.begin(), status.refusals.end(),
                     [&](const HostRefusal& refusal) {
                       return IsOf(refusal, rank, host) && IsInForce(refusal, now_ms);
                     });
}

bool WasRefused(const GangStatus& status, int rank, const std::string& host, std::int64_t now_ms) {
  return std::any_of(status.refusals.begin(), status.refusals.end(),
                     [&](const HostRefusal& refusal) {
                       return IsOf(refusal, rank, host) && !IsForgotten(refusal, now_ms);
                     });
}

int RefusalsOf(const GangStatus& status, int rank, std::int64_t now_ms) {
  int count = 0;
  for (const HostRefusal& refusal : status.refusals) {
    if (refusal.rank == rank && !IsForgotten(refusal, now_ms, kLongestMs)) count += refusal.count;
  }
  return count;
}

void AddRefusal(GangStatus& status, int rank, const std::string& host, const std::string& message,
                std::int64_t now_ms) {
  std::erase_if(status.refusals,
                [&](const HostRefusal& refusal) { return IsForgotten(refusal, now_ms); });
  auto at = std::find_if(status.refusals.begin(), status.refusals.end(),
                         [&](const HostRefusal& refusal) { return IsOf(refusal, rank, host); });
  if (at == status.refusals.end()) {
    if (status.refusals.size() >= kMaxRefusals) {
      status.refusals.erase(std::min_element(
          status.refusals.begin(), status.refusals.end(),
          [](const HostRefusal& a, const HostRefusal& b) { return a.until_ms < b.until_ms; }));
    }
    status.refusals.push_back({rank, host, 0, 0, ""});
    at = std::prev(status.refusals.end());
  }
  ++at->count;
  const std::int64_t wait_ms = std::min(kLongestMs, kFirstMs << std::min(at->count - 1, 6));
  at->until_ms = (now_ms + wait_ms) / 1000 * 1000;  // Kubernetes keeps whole seconds
  at->message = CutAtCharacter(message, kMaxMessage);
  std::sort(status.refusals.begin(), status.refusals.end(),
            [](const HostRefusal& a, const HostRefusal& b) {
              return std::tie(a.rank, a.host) < std::tie(b.rank, b.host);
            });
}

std::vector<std::string> RefusedHosts(const GangStatus& status, std::int64_t now_ms) {
  std::vector<std::string> names;
  for (const HostRefusal& refusal : status.refusals) {
    if (IsInForce(refusal, now_ms)) names.push_back(refusal.host);
  }
  return names;
}

std::vector<std::string> TriedHosts(const GangStatus& status, std::int64_t now_ms) {
  std::vector<std::string> names;
  for (const HostRefusal& refusal : status.refusals) {
    if (!IsForgotten(refusal, now_ms)) names.push_back(refusal.host);
  }
  return names;
}

}  // namespace yardmaster::api
