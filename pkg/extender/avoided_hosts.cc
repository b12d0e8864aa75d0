#include "pkg/extender/avoided_hosts.h"

#include <algorithm>
#include <set>
#include <string>

#include "pkg/api/names.h"
#include "pkg/base/strings.h"

namespace yardmaster::extender {

namespace {

std::vector<std::string> AvoidedBy(const api::Pod& pod) {
  const auto text = api::Find(pod.metadata.annotations, api::kAvoidHostsAnnotation);
  return text && !text->empty() ? Split(*text, ',') : std::vector<std::string>();
}

}  // namespace

bool Avoids(const api::Pod& pod, const std::string& host) {
  const std::vector<std::string> hosts = AvoidedBy(pod);
  return std::find(hosts.begin(), hosts.end(), host) != hosts.end();
}

std::shared_ptr<const std::vector<std::uint8_t>> WithoutAvoided(const plan::Snapshot& snapshot,
                                                                const plan::JobState& job,
                                                                const GatheredGang& gathered) {
  std::set<std::string> names;
  for (const GangMember& member : gathered.members) {
    for (std::string& name : AvoidedBy(*member.pod)) names.insert(std::move(name));
  }
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
