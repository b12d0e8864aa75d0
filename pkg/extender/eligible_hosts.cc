#include "pkg/extender/eligible_hosts.h"

namespace yardmaster::extender {

std::shared_ptr<const std::vector<std::uint8_t>> EligibleWithout(
    const plan::Snapshot& snapshot, const plan::JobState& job,
    const std::vector<std::string>& names) {
  std::shared_ptr<std::vector<std::uint8_t>> out;
  for (const std::string& name : names) {
    const fabric::HostId host = snapshot.places->FindHost(name);
    if (!host.valid()) continue;
    if (out == nullptr) {
      const bool limited = job.eligible != nullptr && !job.eligible->empty();
      out = limited ? std::make_shared<std::vector<std::uint8_t>>(*job.eligible)
                    : std::make_shared<std::vector<std::uint8_t>>(snapshot.cluster.hosts.size(), 1);
    }
    (*out)[host.index()] = 0;
  }
  if (out == nullptr) return job.eligible;
  return out;
}

}  // namespace yardmaster::extender
