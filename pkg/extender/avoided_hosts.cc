#include "pkg/extender/avoided_hosts.h"

#include <algorithm>
#include <string>

#include "pkg/api/names.h"
#include "pkg/base/strings.h"
#include "pkg/extender/eligible_hosts.h"

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
  std::vector<std::string> names;
  for (const GangMember& member : gathered.members) {
    for (std::string& name : AvoidedBy(*member.pod)) names.push_back(std::move(name));
  }
  return EligibleWithout(snapshot, job, names);
}

}  // namespace yardmaster::extender
