#include "pkg/tls/renewal.h"

#include <algorithm>

#include "pkg/tls/authority.h"

namespace yardmaster::tls {

std::int64_t DueMs(const Certificate& certificate, std::int64_t life_ms) {
  const std::int64_t own_ms = certificate.not_after_ms - certificate.not_before_ms;
  const std::int64_t due_ms = certificate.not_after_ms - std::min(own_ms, life_ms) / 3;
  // Of a longer life than the one asked for, what was asked for counts, from when it was made.
  return std::min(due_ms, certificate.not_before_ms + kClockSkewMs + life_ms - life_ms / 3);
}

Renewal DecideRenewal(const Certificate& certificate, const Certificate& authority,
                      std::int64_t life_ms, std::int64_t now_ms) {
  if (now_ms < DueMs(certificate, life_ms)) return Renewal::kKeep;
  if (authority.not_after_ms <= now_ms) return Renewal::kAuthorityEnds;
  // One with longer to go than is asked for is shortened.
  const bool is_longer = certificate.not_after_ms > now_ms + life_ms;
  return is_longer || certificate.not_after_ms < authority.not_after_ms ? Renewal::kRenew
                                                                        : Renewal::kAuthorityEnds;
}

}  // namespace yardmaster::tls
