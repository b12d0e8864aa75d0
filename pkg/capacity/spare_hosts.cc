#include "pkg/capacity/spare_hosts.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

namespace yardmaster::capacity {

namespace {

constexpr double kSecondsPerDay = 86'400;

// P(D = d) for d from 0 to n.
std::vector<double> DownHosts(const SparePool& pool) {
  const double load = pool.failures_per_host_day * pool.repair_days;
  std::vector<double> shares(static_cast<std::size_t>(pool.hosts) + 1, 0.0);
  // Logarithms, since the first may be too small for a double.
  double log_share = -pool.hosts * std::log1p(load);
  for (int d = 0; d <= pool.hosts; ++d) {
    if (d > 0) log_share += std::log(load * (pool.hosts - d + 1) / d);
    shares[static_cast<std::size_t>(d)] = std::exp(log_share);
    if (load <= 0) break;
  }
  return shares;
}

// P(D <= s).
double SparesSuffice(const SparePool& pool, const std::vector<double>& down) {
  return std::min(1.0, std::accumulate(down.begin(), down.begin() + pool.spares + 1, 0.0));
}

// The probability that a gang with `own` of the hosts in use has none of those that are missing.
double WholeInOnePlace(const SparePool& pool, const std::vector<double>& down, int own) {
  const int in_use = pool.hosts - pool.spares;
  double sum = SparesSuffice(pool, down);
  double none_own = 1;  // of `missing` hosts that are drawn from those in use
  for (int missing = 1; missing <= in_use - own; ++missing) {
    none_own *= static_cast<double>(in_use - own - missing + 1) / (in_use - missing + 1);
    sum += down[static_cast<std::size_t>(pool.spares + missing)] * none_own;
  }
  return std::min(1.0, sum);
}

}  // namespace

double InsideShare(const SparePool& pool) {
  const std::vector<double> down = DownHosts(pool);
  double replaced = 0, all = 0;  // hosts in use, by how many are down
  for (int d = 0; d < pool.hosts; ++d) {
    const double in_use =
        down[static_cast<std::size_t>(d)] * (pool.hosts - std::max(pool.spares, d));
    all += in_use;
    if (d < pool.spares) replaced += in_use;
  }
  return replaced / all;
}

double WholeShare(const SparePool& pool, int gang_hosts) {
  const std::vector<double> down = DownHosts(pool);
  const int in_use = pool.hosts - pool.spares;
  const int rest = gang_hosts % in_use;
  const double whole = std::pow(SparesSuffice(pool, down), gang_hosts / in_use);
  return rest == 0 ? whole : whole * WholeInOnePlace(pool, down, rest);
}

double UsefulShare(const GangTiming& gang, double failures_per_host_day) {
  const double rate = gang.hosts * failures_per_host_day / kSecondsPerDay;
  const double cycle = gang.interval_seconds + gang.checkpoint_seconds;
  if (rate <= 0) return gang.interval_seconds / cycle;
  const double expected_seconds =
      std::exp(rate * gang.restart_seconds) * std::expm1(rate * cycle) / rate;
  return gang.interval_seconds / expected_seconds;
}

double GoodputShare(const SparePool& pool, const GangTiming& gang) {
  return WholeShare(pool, gang.hosts) * UsefulShare(gang, pool.failures_per_host_day);
}

}  // namespace yardmaster::capacity
