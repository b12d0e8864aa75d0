#include "pkg/app/staleness.h"

#include "pkg/base/strings.h"

namespace yardmaster::app {

namespace {

absl::Status Check(const char* what, std::int64_t last_ms, std::int64_t limit_ms,
                   std::int64_t now_ms) {
  if (last_ms < 0) return absl::UnavailableError(StrCat(what, " yet"));
  if (now_ms - last_ms <= limit_ms) return absl::OkStatus();
  return absl::UnavailableError(
      StrCat(what, " for ", (now_ms - last_ms) / 1000, " s; the limit is ", limit_ms / 1000, " s"));
}

}  // namespace

absl::Status CheckStaleness(const LastContact& contact, const StalenessLimits& limits,
                            std::int64_t now_ms) {
  const absl::Status answer =
      Check("no answer from the API server", contact.answer_ms, limits.answer_ms, now_ms);
  if (!answer.ok()) return answer;
  return Check("a watch has brought nothing", contact.watch_ms, limits.watch_ms, now_ms);
}

double SilenceSeconds(std::int64_t last_ms, std::int64_t began_ms, std::int64_t now_ms) {
  return static_cast<double>(now_ms - (last_ms < 0 ? began_ms : last_ms)) / 1000.0;
}

}  // namespace yardmaster::app
