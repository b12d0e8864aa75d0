// Where hosts stand: fabric pod > segment > domain > host, with dense ids. The hosts of a domain
// share a scale-up network (NVLink); a host without one is a domain of its own.
//
// Why not maps by label? Planning walks these levels thousands of times a second; dense ids
// make per-plan state flat arrays beside an immutable tree that all snapshots of one node set
// share.
//
// Invariants: ids follow names (fabric pods by name, segments by (fabric pod, name), domains by
// (segment, name), hosts by (segment, domain, name); a domain without a name has its host's), so
// that equal sets of hosts give equal ids in any order of arrival. The hosts of a domain, the
// domains of a segment and the segments of a fabric pod have consecutive ids. Thread safety:
// immutable after Build.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "pkg/base/ids.h"
#include "pkg/base/ip_address.h"

namespace yardmaster::fabric {

using FabricPodId = Id<struct FabricPodTag>;
using SegmentId = Id<struct SegmentTag>;
using DomainId = Id<struct DomainTag>;
using HostId = Id<struct HostTag>;

// One host as its Node describes it. A segment is named within its fabric pod, a domain within its
// segment.
struct HostPlace {
  std::string name;
  std::string fabric_pod;
  std::string segment;
  // Address of every rail's NIC (both ports share it); empty: derived from the fabric's
  // `addressing`.
  std::vector<IpAddress> nic_addresses;
  // Why the true addresses are unknown, so that no path of its NICs can be predicted; empty: they
  // are known.
  std::string address_problem = {};
  // False: an assignment names the host and no Node of that name exists. It needs no port of a
  // switch.
  bool has_node = true;
  // Empty: the host shares its scale-up network with no other.
  std::string domain = {};
  bool operator==(const HostPlace&) const = default;
};

// A run of consecutive ids.
template <typename IdType>
class IdRange {
 public:
  class Iterator {
   public:
    explicit Iterator(std::int32_t at) : at_(at) {}
    IdType operator*() const { return IdType(at_); }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    bool operator==(const Iterator&) const = default;

   private:
    std::int32_t at_;
  };
  IdRange(std::int32_t first, std::int32_t last) : first_(first), last_(last) {}
  Iterator begin() const { return Iterator(first_); }
  Iterator end() const { return Iterator(last_); }
  int size() const { return last_ - first_; }
  bool empty() const { return last_ == first_; }
  IdType operator[](int i) const { return IdType(first_ + i); }

 private:
  std::int32_t first_;
  std::int32_t last_;
};

class Places {
 public:
  // Errors: InvalidArgument on an empty or repeated host name and on an empty place.
  static absl::StatusOr<Places> Build(const std::vector<HostPlace>& hosts);

  int num_fabric_pods() const { return static_cast<int>(fabric_pod_names_.size()); }
  int num_segments() const { return static_cast<int>(segment_names_.size()); }
  int num_domains() const {
    return has_domains() ? static_cast<int>(domain_names_.size()) : num_hosts();
  }
  int num_hosts() const { return static_cast<int>(host_names_.size()); }
  // False: no host has a domain with a name, and domains are hosts, with equal ids.
  bool has_domains() const { return !domain_names_.empty(); }
  IdRange<FabricPodId> fabric_pods() const { return {0, num_fabric_pods()}; }
  IdRange<SegmentId> segments() const { return {0, num_segments()}; }
  IdRange<DomainId> domains() const { return {0, num_domains()}; }
  IdRange<HostId> hosts() const { return {0, num_hosts()}; }
  IdRange<SegmentId> segments_of(FabricPodId pod) const;
  IdRange<DomainId> domains_of(SegmentId segment) const;
  IdRange<HostId> hosts_of(DomainId domain) const;
  IdRange<HostId> hosts_of(SegmentId segment) const;
  // How many hosts of a segment have a Node.
  int num_nodes_of(SegmentId segment) const { return num_nodes_[segment.index()]; }
  // All hosts of a fabric pod (they are consecutive, too).
  IdRange<HostId> hosts_of(FabricPodId pod) const;

  DomainId domain_of(HostId host) const {
    return has_domains() ? domain_of_host_[host.index()] : DomainId(host.value);
  }
  SegmentId segment_of(DomainId domain) const { return segment_of(hosts_of(domain)[0]); }
  SegmentId segment_of(HostId host) const { return segment_of_host_[host.index()]; }
  FabricPodId fabric_pod_of(SegmentId s) const { return fabric_pod_of_segment_[s.index()]; }
  FabricPodId fabric_pod_of(HostId host) const { return fabric_pod_of(segment_of(host)); }

  const std::string& name(FabricPodId id) const { return fabric_pod_names_[id.index()]; }
  const std::string& name(SegmentId id) const { return segment_names_[id.index()]; }
  const std::string& name(DomainId id) const {
    return has_domains() ? domain_names_[id.index()] : host_names_[id.index()];
  }
  const std::string& name(HostId id) const { return host_names_[id.index()]; }
  const std::vector<IpAddress>& nic_addresses(HostId host) const {
    return nic_addresses_[host.index()];
  }
  const std::string& address_problem(HostId host) const { return address_problems_[host.index()]; }
  // All hosts, by name.
  const std::vector<HostId>& by_name() const { return by_name_; }
  // The host of that name, or an invalid id. O(1) on average.
  HostId FindHost(std::string_view name) const;

 private:
  void FindDomains(const std::vector<const HostPlace*>& hosts);
  void IndexNames();
  std::size_t SlotOf(std::string_view name) const;

  std::vector<std::string> fabric_pod_names_;
  std::vector<std::int32_t> first_segment_;  // per fabric pod, one more at the end
  std::vector<std::string> segment_names_;
  std::vector<FabricPodId> fabric_pod_of_segment_;
  std::vector<std::int32_t> first_host_;  // per segment, one more at the end
  std::vector<std::int32_t> num_nodes_;   // per segment
  // All empty where domains are hosts.
  std::vector<std::string> domain_names_;
  std::vector<std::int32_t> first_host_of_domain_;  // one more at the end
  std::vector<DomainId> domain_of_host_;
  std::vector<std::string> host_names_;
  std::vector<SegmentId> segment_of_host_;
  std::vector<std::vector<IpAddress>> nic_addresses_;
  std::vector<std::string> address_problems_;
  std::vector<HostId> by_name_;
  std::vector<HostId> by_hash_;  // by slot (SlotOf); at least half of them are free: invalid
};

// For people: "p0s3", or "p0/s3" where another fabric pod has a segment s3, too. O(segments).
std::string DistinctName(const Places& places, SegmentId segment);

}  // namespace yardmaster::fabric
