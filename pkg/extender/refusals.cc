#include "pkg/extender/refusals.h"

#include <algorithm>
#include <tuple>

#include "pkg/base/strings.h"
#include "pkg/extender/eligible_hosts.h"

namespace yardmaster::extender {

namespace {
constexpr std::int64_t kFirstMs = 60'000;
constexpr std::int64_t kLongestMs = 3'600'000;
constexpr std::size_t kMaxMessage = 500;

bool IsForgotten(const api::HostRefusal& refusal, std::int64_t now_ms) {
  return refusal.until_ms + kLongestMs < now_ms;
}

}  // namespace

bool IsRefused(const api::GangStatus& status, int rank, const std::string& host,
               std::int64_t now_ms) {
  return std::any_of(
      status.refusals.begin(), status.refusals.end(), [&](const api::HostRefusal& refusal) {
        return refusal.rank == rank && refusal.host == host && refusal.until_ms > now_ms;
      });
}

int RefusalsOf(const api::GangStatus& status, int rank, std::int64_t now_ms) {
  int count = 0;
  for (const api::HostRefusal& refusal : status.refusals) {
    if (refusal.rank == rank && !IsForgotten(refusal, now_ms)) count += refusal.count;
  }
  return count;
}

void AddRefusal(api::GangStatus& status, int rank, const std::string& host,
                const std::string& message, std::int64_t now_ms) {
  std::erase_if(status.refusals,
                [&](const api::HostRefusal& refusal) { return IsForgotten(refusal, now_ms); });
  auto at = std::find_if(status.refusals.begin(), status.refusals.end(),
                         [&](const api::HostRefusal& refusal) {
                           return refusal.rank == rank && refusal.host == host;
                         });
  if (at == status.refusals.end()) {
    if (status.refusals.size() >= kMaxRefusals) {
      status.refusals.erase(
          std::min_element(status.refusals.begin(), status.refusals.end(),
                           [](const api::HostRefusal& a, const api::HostRefusal& b) {
                             return a.until_ms < b.until_ms;
                           }));
    }
    status.refusals.push_back({rank, host, 0, 0, ""});
    at = std::prev(status.refusals.end());
  }
  ++at->count;
  const std::int64_t wait_ms = std::min(kLongestMs, kFirstMs << std::min(at->count - 1, 6));
  at->until_ms = (now_ms + wait_ms) / 1000 * 1000;  // Kubernetes keeps whole seconds
  at->message = CutAtCharacter(message, kMaxMessage);
  std::sort(status.refusals.begin(), status.refusals.end(),
            [](const api::HostRefusal& a, const api::HostRefusal& b) {
              return std::tie(a.rank, a.host) < std::tie(b.rank, b.host);
            });
}

std::shared_ptr<const std::vector<std::uint8_t>> EligibleNow(const plan::Snapshot& snapshot,
                                                             const plan::JobState& job,
                                                             const api::GangStatus& status) {
  std::vector<std::string> names;
  for (const api::HostRefusal& refusal : status.refusals) {
    if (refusal.until_ms > snapshot.now_ms) names.push_back(refusal.host);
  }
  return EligibleWithout(snapshot, job, names);
}

}  // namespace yardmaster::extender
