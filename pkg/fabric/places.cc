#include "pkg/fabric/places.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

#include "pkg/base/status.h"
#include "pkg/base/strings.h"

namespace yardmaster::fabric {

namespace {

// Within a segment: by domain, and by name. A host without a domain has one of its own name.
auto OrderOf(const HostPlace& host) {
  return std::tuple<std::string_view, bool, std::string_view>(
      host.domain.empty() ? host.name : host.domain, host.domain.empty(), host.name);
}
bool NameLess(const HostPlace* a, const HostPlace* b) { return OrderOf(*a) < OrderOf(*b); }

// By fabric pod, segment, domain and name. Hosts that come one after the other are mostly of one
// segment, and come by name where a segment's hosts do: O(hosts) then, else O(hosts * log hosts).
std::vector<const HostPlace*> BySegment(const std::vector<HostPlace>& hosts) {
  using Segment = std::pair<std::string_view, std::string_view>;
  std::map<Segment, std::vector<const HostPlace*>> segments;
  auto at = segments.end();
  for (const HostPlace& host : hosts) {
    const Segment segment{host.fabric_pod, host.segment};
    if (at == segments.end() || at->first != segment) at = segments.try_emplace(segment).first;
    at->second.push_back(&host);
  }
  std::vector<const HostPlace*> order;
  order.reserve(hosts.size());
  for (auto& [segment, members] : segments) {
    if (!std::is_sorted(members.begin(), members.end(), NameLess)) {
      std::sort(members.begin(), members.end(), NameLess);
    }
    order.insert(order.end(), members.begin(), members.end());
  }
  return order;
}

}  // namespace

absl::StatusOr<Places> Places::Build(const std::vector<HostPlace>& hosts) {
  for (const HostPlace& host : hosts) {
    if (host.name.empty()) {
      return FieldError("host", "has no name", "give every host a name");
    }
    if (host.fabric_pod.empty() || host.segment.empty()) {
      return FieldError(StrCat("host ", host.name), "has no fabric pod or no segment",
                        "label the Node with both");
    }
  }
  Places places;
  std::vector<HostId> ids(hosts.size());  // in the order of the input
  const std::vector<const HostPlace*> order = BySegment(hosts);
  for (const HostPlace* next : order) {
    const HostPlace& host = *next;
    ids[static_cast<std::size_t>(next - hosts.data())] = HostId(places.num_hosts());
    const bool new_pod =
        places.fabric_pod_names_.empty() || places.fabric_pod_names_.back() != host.fabric_pod;
    if (new_pod) {
      places.fabric_pod_names_.push_back(host.fabric_pod);
      places.first_segment_.push_back(places.num_segments());
    }
    if (new_pod || places.segment_names_.back() != host.segment) {
      places.segment_names_.push_back(host.segment);
      places.fabric_pod_of_segment_.push_back(FabricPodId(places.num_fabric_pods() - 1));
      places.first_host_.push_back(places.num_hosts());
      places.num_nodes_.push_back(0);
    }
    places.num_nodes_.back() += host.has_node ? 1 : 0;
    places.segment_of_host_.push_back(SegmentId(places.num_segments() - 1));
    places.host_names_.push_back(host.name);
    places.nic_addresses_.push_back(host.nic_addresses);
    places.address_problems_.push_back(host.address_problem);
  }
  places.first_segment_.push_back(places.num_segments());
  places.first_host_.push_back(places.num_hosts());
  places.FindDomains(order);

  const auto by_name = [&](HostId a, HostId b) { return places.name(a) < places.name(b); };
  places.by_name_ = std::move(ids);
  if (!std::is_sorted(places.by_name_.begin(), places.by_name_.end(), by_name)) {
    std::sort(places.by_name_.begin(), places.by_name_.end(), by_name);
  }
  for (std::size_t i = 1; i < places.by_name_.size(); ++i) {
    const std::string& name = places.name(places.by_name_[i]);
    if (places.name(places.by_name_[i - 1]) == name) {
      return FieldError(StrCat("host ", name), "is there twice", "give every host one place");
    }
  }
  places.IndexNames();
  return places;
}

IdRange<SegmentId> Places::segments_of(FabricPodId pod) const {
  return {first_segment_[pod.index()], first_segment_[pod.index() + 1]};
}

// `hosts` by HostId.
void Places::FindDomains(const std::vector<const HostPlace*>& hosts) {
  const bool any = std::any_of(hosts.begin(), hosts.end(),
                               [](const HostPlace* host) { return !host->domain.empty(); });
  if (!any) return;
  for (const HostId id : this->hosts()) {
    const HostPlace& host = *hosts[id.index()];
    const bool joins_last = id.value > 0 && !host.domain.empty() &&
                            hosts[id.index() - 1]->domain == host.domain &&
                            segment_of(id) == segment_of(HostId(id.value - 1));
    if (!joins_last) {
      domain_names_.push_back(host.domain.empty() ? host.name : host.domain);
      first_host_of_domain_.push_back(id.value);
    }
    domain_of_host_.push_back(DomainId(static_cast<std::int32_t>(domain_names_.size()) - 1));
  }
  first_host_of_domain_.push_back(num_hosts());
}

IdRange<DomainId> Places::domains_of(SegmentId segment) const {
  const IdRange<HostId> hosts = hosts_of(segment);
  return {domain_of(hosts[0]).value, domain_of(hosts[hosts.size() - 1]).value + 1};
}

IdRange<HostId> Places::hosts_of(DomainId domain) const {
  if (!has_domains()) return {domain.value, domain.value + 1};
  return {first_host_of_domain_[domain.index()], first_host_of_domain_[domain.index() + 1]};
}

IdRange<HostId> Places::hosts_of(SegmentId segment) const {
  return {first_host_[segment.index()], first_host_[segment.index() + 1]};
}

IdRange<HostId> Places::hosts_of(FabricPodId pod) const {
  return {first_host_[static_cast<std::size_t>(first_segment_[pod.index()])],
          first_host_[static_cast<std::size_t>(first_segment_[pod.index() + 1])]};
}

void Places::IndexNames() {
  by_hash_.assign(std::bit_ceil(2 * host_names_.size() + 1), HostId());
  for (HostId host : hosts()) by_hash_[SlotOf(name(host))] = host;
}

// Where the host of that name is, or would be put: at its hash, or in the first slot behind it that
// is free.
std::size_t Places::SlotOf(std::string_view wanted) const {
  const std::size_t mask = by_hash_.size() - 1;
  std::size_t slot = std::hash<std::string_view>{}(wanted)&mask;
  while (by_hash_[slot].valid() && name(by_hash_[slot]) != wanted) slot = (slot + 1) & mask;
  return slot;
}

HostId Places::FindHost(std::string_view wanted) const {
  return by_hash_.empty() ? HostId() : by_hash_[SlotOf(wanted)];
}

std::string DistinctName(const Places& places, SegmentId segment) {
  const std::string& name = places.name(segment);
  for (const SegmentId other : places.segments()) {
    if (other == segment || places.name(other) != name) continue;
    return StrCat(places.name(places.fabric_pod_of(segment)), "/", name);
  }
  return name;
}

}  // namespace yardmaster::fabric
