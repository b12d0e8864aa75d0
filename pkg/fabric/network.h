// The switches and cables of a fabric, with dense ids and no array of switches or cables:
// everything is arithmetic on the spec, so the memory does not grow with the fabric (apart from
// Places).
//
// A *cable* joins a host NIC port to a ToR, or a switch's up port to a switch of the next tier. A
// *link* is one direction of a cable: up (away from hosts) or down. Bandwidth and load belong to
// links, failures to cables (an overlay that the planner of paths is given).
//
// Names, stable and unique (the ids people see):
//   switch  "<fabric pod>/<segment>/tor-r2-p0" (its place, role, first rail, plane and number; what
//           the tier does not have is left out: "p0/agg-p1-17", "core-p0-3")
//   cable   "<host>:r2p1" or "<switch>:u17"; a link is its cable's name followed by ".up" or
//           ".down"
//
// Determinism: ids depend on spec and places alone. Thread safety: immutable after Build.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "pkg/fabric/places.h"
#include "pkg/fabric/spec.h"

namespace yardmaster::fabric {

using SwitchId = Id<struct SwitchTag>;
using CableId = Id<struct CableTag>;
using LinkId = Id<struct LinkTag>;

// One port of one rail's NIC.
struct NicPort {
  HostId host;
  int rail = 0;
  int port = 0;
  bool operator==(const NicPort&) const = default;
};

// Where a switch stands. `rail` is the first that it serves. `rail` and `plane` are -1 where the
// tier serves all of them. `place` is the index of a segment or of a fabric pod, or 0, by the
// tier's scope.
struct SwitchPlace {
  int tier = 0;
  int place = 0;
  int rail = -1;
  int plane = -1;
  int number = 0;  // within its group
};

class Network {
 public:
  // Errors: InvalidArgument when the spec is invalid or the hosts need more ports than it has (more
  // segments in a fabric pod than Agg ports, more hosts in a segment than ToR ports, ...), or when
  // there are more than 10 million switches or 50 million cables.
  static absl::StatusOr<Network> Build(FabricSpec spec, std::shared_ptr<const Places> places);

  const FabricSpec& spec() const { return spec_; }
  const Places& places() const { return *places_; }
  int num_tiers() const { return static_cast<int>(spec_.tiers.size()); }
  int num_switches() const { return tiers_.back().first_switch + tiers_.back().num_switches; }
  int num_cables() const { return num_cables_; }
  int num_host_cables() const { return num_host_cables_; }  // the first ones
  int num_links() const { return 2 * num_cables_; }

  SwitchPlace place_of(SwitchId id) const;
  int tier_of(SwitchId id) const;
  // The ToR a NIC port is plugged into.
  SwitchId tor(const NicPort& port) const;
  int plane_of(const NicPort& port) const { return port.port % spec_.planes; }
  int num_up_ports(SwitchId id) const { return spec_.tiers[IndexOfTier(id)].up_ports; }
  // False: a switch at one of its ends is absent (FabricSpec::absent_switches).
  bool exists(CableId cable) const;
  // Marks the cables that do not exist in `down`, by CableId; nothing where all do.
  void MarkAbsent(std::vector<std::uint8_t>& down) const;
  // The switch at the other end of an up port. REQUIRES: 0 <= up_port < num_up_ports(id).
  SwitchId upper(SwitchId id, int up_port) const;

  CableId host_cable(const NicPort& port) const;
  CableId up_cable(SwitchId id, int up_port) const;
  static LinkId up(CableId cable) { return LinkId(2 * cable.value); }
  static LinkId down(CableId cable) { return LinkId(2 * cable.value + 1); }
  static CableId cable_of(LinkId link) { return CableId(link.value / 2); }
  static bool is_down(LinkId link) { return link.value % 2 == 1; }
  // Gb/s of one direction.
  double gbps(LinkId link) const;

  // Whether a cable is a host's; then which NIC port, else which switch and up port it starts at.
  bool is_host_cable(CableId cable) const { return cable.value < num_host_cables_; }
  NicPort nic_port_of(CableId cable) const;
  struct SwitchPort {
    SwitchId id;
    int up_port = 0;
  };
  SwitchPort switch_port_of(CableId cable) const;

  // True when `dst` hangs below this switch (in a plane and rail it serves).
  bool reaches_down(SwitchId id, const NicPort& dst) const;
  // The ECMP group, in member order, that a packet to the NIC (dst.host, dst.rail) meets at `at`
  // when it arrived from below or above: downwards links if dst hangs below, all up links
  // otherwise. Where one ToR pair serves both ports of a NIC inside one plane, both ToRs are
  // members. At a ToR that serves dst the answer is the one link to the host. Health is not
  // considered here.
  std::vector<LinkId> next_hops(SwitchId at, const NicPort& dst) const;
  // The switch at the far end of a link, or an invalid id when the far end is a host.
  SwitchId far_end(LinkId link) const;

  // Address of a NIC (both ports of a rail share it); 0.0.0.0 unless knows_addresses.
  IpAddress nic_address(HostId host, int rail) const;
  // Whether the host states the addresses of its NICs, or the spec states addressing.base.
  bool knows_addresses(HostId host) const;

  std::string name(SwitchId id) const;
  std::string name(CableId id) const;
  std::string name(LinkId id) const;
  // The name as people are shown it (FabricSpec::switch_names).
  template <typename AnyId>
  std::string shown(AnyId id) const {
    return ShownName(spec_, name(id));
  }
  // By any of the names above, or as it is shown; an invalid id if none matches. FindCable takes a
  // link's name, too. A name that contains a switch costs O(switches).
  CableId FindCable(std::string_view name) const;
  SwitchId FindSwitch(std::string_view name) const;

 private:
  // Dense numbering of one tier.
  struct TierIndex {
    int first_switch = 0;
    int num_switches = 0;
    int first_cable = 0;  // of its up ports
    int places = 1;
    int rails = 1;  // groups by rail, of rails_per_group each
    int rails_per_group = 1;
    int planes = 1;  // groups by plane
  };
  std::size_t IndexOfTier(SwitchId id) const { return static_cast<std::size_t>(tier_of(id)); }
  SwitchId IdOf(int tier, int place, int rail, int plane, int number) const;
  int WiringIndex(const SwitchPlace& lower) const;
  int ParentPlace(int tier, int place) const;
  bool Covers(int tier, int place, HostId host) const;
  absl::Status CheckSizes() const;
  void FindAbsent();

  FabricSpec spec_;
  std::shared_ptr<const Places> places_;
  std::vector<TierIndex> tiers_;
  int num_host_cables_ = 0;
  int num_cables_ = 0;
  std::optional<IpAddress> base_address_;  // nullopt: not stated
  std::vector<CableId> absent_;            // sorted
};

}  // namespace yardmaster::fabric
