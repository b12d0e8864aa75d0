// Hosts that kube-scheduler refused to a gang's pods (status.refusals), and which of the refusals
// are in force at a given time. A refusal that ends later than any that is made now is not: the
// clock of the process that wrote it was ahead.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "pkg/api/gang.h"

namespace yardmaster::api {

// Hosts that were refused stay known for a day: the next try goes to a host that was not tried yet.
// Whether the rank is not to be pinned to the host now.
bool IsRefused(const GangStatus& status, int rank, const std::string& host, std::int64_t now_ms);
// Whether the rank was refused the host, though it may be tried again when no other fits.
bool WasRefused(const GangStatus& status, int rank, const std::string& host, std::int64_t now_ms);
// How often hosts were refused to the rank. What ended an hour ago does not count.
int RefusalsOf(const GangStatus& status, int rank, std::int64_t now_ms);
// As many fit into an object beside the assignments.
inline constexpr std::size_t kMaxRefusals = 1'024;
// Adds a refusal for a minute, twice as long for every one before it of the same rank and host, at
// most an hour. Forgets those that ended a day ago, and of more than `kMaxRefusals` those that
// end first.
void AddRefusal(GangStatus& status, int rank, const std::string& host, const std::string& message,
                std::int64_t now_ms);
// Those that are refused to some rank now; a host may be named more than once.
std::vector<std::string> RefusedHosts(const GangStatus& status, std::int64_t now_ms);
// Those that were refused to some rank, whether they may be tried again or not.
std::vector<std::string> TriedHosts(const GangStatus& status, std::int64_t now_ms);

}  // namespace yardmaster::api
