#include "pkg/fabric/places.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <utility>

#include "pkg/base/status.h"
#include "pkg/base/strings.h"

namespace yardmaster::fabric {

namespace {

bool NameLess(const HostPlace* a, const HostPlace* b) { return a->name < b->name; }

// By fabric pod, segment and name. Hosts that come one after the other are mostly of one segment,
// and come by name where a segment's hosts do: O(hosts) then, else O(hosts * log hosts).
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
  for (const HostPlace* next : BySegment(hosts)) {
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
