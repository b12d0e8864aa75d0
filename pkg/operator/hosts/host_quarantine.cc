#include "pkg/operator/hosts/host_quarantine.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

namespace yardmaster::op {

namespace {

using api::HostFailure;
using api::HostRecord;

// So many are kept of a host; enough for every threshold that makes sense.
constexpr std::size_t kKeptFailures = 16;
// Times that are further ahead were written by a process whose clock was.
constexpr std::int64_t kClockSlackMs = 10'000;

class Quarantine {
 public:
  Quarantine(const std::map<std::string, HostHistory>& hosts, const QuarantineLimits& limits,
             std::int64_t now_ms)
      : hosts_(hosts), limits_(limits), now_ms_(now_ms) {}

  std::map<std::string, HostRecord> Run() {
    for (const auto& [name, host] : hosts_) {
      records_[name] = Merged(host);
      ++all_in_[host.segment];
    }
    for (const auto& [name, record] : records_) {
      for (const HostFailure& failure : record.failures) ++failures_of_[failure.job_uid];
      if (record.until_ms > now_ms_) Count(name, record);
    }
    for (auto& [name, record] : records_) QuarantineIfDue(name, record);
    return std::move(records_);
  }

 private:
  HostRecord Merged(const HostHistory& host) const {
    HostRecord record = host.record;
    for (const HostFailure& failure : host.reported) {
      const bool known = std::any_of(record.failures.begin(), record.failures.end(),
                                     [&](const HostFailure& f) { return f.IsSameAs(failure); });
      if (!known) record.failures.push_back(failure);
    }
    std::erase_if(record.failures, [&](const HostFailure& f) {
      return f.time_ms + limits_.window_ms <= now_ms_ || f.time_ms > now_ms_ + kClockSlackMs;
    });
    std::sort(record.failures.begin(), record.failures.end(),
              [](const HostFailure& a, const HostFailure& b) {
                return std::tie(a.time_ms, a.job, a.job_uid, a.attempt) <
                       std::tie(b.time_ms, b.job, b.job_uid, b.attempt);
              });
    while (record.failures.size() > kKeptFailures) {
      // What one namespace says of its own speed does not displace failures of others.
      const auto slow = std::find_if(record.failures.begin(), record.failures.end(),
                                     [](const HostFailure& failure) { return failure.slow; });
      record.failures.erase(slow == record.failures.end() ? record.failures.begin() : slow);
    }
    record.until_ms = std::min(record.until_ms, (now_ms_ + limits_.max_ms) / 1000 * 1000);
    if (record.until_ms != 0 && record.until_ms + limits_.window_ms <= now_ms_) {
      record.quarantines = 0;
      record.until_ms = 0;
    }
    return record;
  }

  // Failures that count towards the next quarantine of the host.
  std::vector<const HostFailure*> Counting(const HostRecord& record) const {
    std::map<std::string, int> here;
    for (const HostFailure& failure : record.failures) ++here[failure.job_uid];
    std::vector<const HostFailure*> out;
    for (const HostFailure& failure : record.failures) {
      const bool mostly_here = 2 * here[failure.job_uid] > failures_of_.at(failure.job_uid);
      if (mostly_here && failure.time_ms > record.until_ms) out.push_back(&failure);
    }
    std::map<std::string, int> by_namespace, slow_in;
    for (const HostFailure* failure : out) ++by_namespace[failure->namespace_name()];
    const int all = static_cast<int>(out.size());
    std::erase_if(out, [&](const HostFailure* failure) {
      const std::string of = failure->namespace_name();
      return failure->slow && ++slow_in[of] > all - by_namespace[of];
    });
    return out;
  }

  static std::set<std::string> Namespaces(const HostRecord& record) {
    std::set<std::string> out;
    for (const HostFailure& failure : record.failures) out.insert(failure.namespace_name());
    return out;
  }

  void Count(const std::string& name, const HostRecord& record) {
    ++quarantined_;
    ++quarantined_in_[hosts_.at(name).segment];
    const std::set<std::string> namespaces = Namespaces(record);
    if (namespaces.size() == 1) ++quarantined_by_[*namespaces.begin()];
  }

  bool Allowed(const std::string& name, const HostRecord& record) {
    const auto limit = [](double share, std::size_t all) {
      return std::max(1, static_cast<int>(share * static_cast<double>(all)));
    };
    const std::string& segment = hosts_.at(name).segment;
    const std::set<std::string> namespaces = Namespaces(record);
    return quarantined_ < limit(limits_.fabric_share, hosts_.size()) &&
           quarantined_in_[segment] < limit(limits_.segment_share, all_in_[segment]) &&
           (namespaces.size() > 1 || quarantined_by_[*namespaces.begin()] < limits_.per_namespace);
  }

  void QuarantineIfDue(const std::string& name, HostRecord& record) {
    if (limits_.failures == 0 || record.until_ms > now_ms_) return;
    if (static_cast<int>(Counting(record).size()) < limits_.failures) return;
    if (!Allowed(name, record)) return;
    std::int64_t length_ms = limits_.first_ms;
    for (int i = 0; i < record.quarantines && length_ms < limits_.max_ms; ++i) length_ms *= 2;
    ++record.quarantines;
    // The annotation keeps whole seconds.
    record.until_ms = (now_ms_ + std::min(length_ms, limits_.max_ms)) / 1000 * 1000;
    Count(name, record);
  }

  const std::map<std::string, HostHistory>& hosts_;
  const QuarantineLimits& limits_;
  const std::int64_t now_ms_;
  std::map<std::string, HostRecord> records_;
  std::map<std::string, int> failures_of_;     // by job uid, on all hosts
  std::map<std::string, std::size_t> all_in_;  // hosts by segment
  int quarantined_ = 0;
  std::map<std::string, int> quarantined_in_;  // by segment
  std::map<std::string, int> quarantined_by_;  // by namespace
};

}  // namespace

std::map<std::string, HostRecord> NextRecords(const std::map<std::string, HostHistory>& hosts,
                                              const QuarantineLimits& limits, std::int64_t now_ms) {
  return Quarantine(hosts, limits, now_ms).Run();
}

}  // namespace yardmaster::op
