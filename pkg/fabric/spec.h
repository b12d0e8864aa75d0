// What a platform team writes about its network: the Fabric resource as plain data.
//
// A fabric is a folded Clos. Hosts stand in segments (all hosts that share one set of ToRs),
// segments in fabric pods. A host has `rails` NICs with `nic_ports` ports each; port p belongs to
// plane p mod planes, and a packet stays in its plane in tiers with `per_plane`. Tiers are listed
// from the hosts upwards. HPN 7.0 (Qian et al., SIGCOMM 2024), DCN+, rail-only, two-layer Clos and
// fat trees are all values of this type; nothing in the code knows a generation by name.
//
// The switches of a tier `per_rail` serve `rails_per_switch` neighbouring rails each: 2 where rails
// 0 and 1 of a host end at one leaf, 2 and 3 at the next. Every place has the same number of
// switches; those that a smaller one does not have are `absent_switches`.
//
// Wiring between tier t and tier t+1: a lower switch spreads its up_ports evenly, in port order,
// over the upper switches of its stripe. `stripes` of the upper tier is 1 when every lower switch
// meets every upper one; a k-ary fat tree has k/2 at the core. Lower switch i of a place and upper
// switch j belong to stripes i mod stripes and j mod stripes.
//
// Thread safety: values. Network::Build validates the spec that it is given.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/base/status.h"
#include "pkg/fabric/ecmp_hash.h"

namespace yardmaster::fabric {

// The place one set of switches serves.
enum class Scope { kSegment, kFabricPod, kFabric };

struct Tier {
  std::string role;               // "tor", "agg", "core": unique, names the hash configuration
  Scope scope = Scope::kSegment;  // not narrower than the tier below
  int switches = 1;               // per place, per rail if per_rail, per plane if per_plane
  bool per_rail = false;          // own switches for every rail, or for rails_per_switch of them
  bool per_plane = true;          // own switches for every plane
  int down_ports = 0;             // per switch, towards hosts
  int down_gbps = 0;              // of each
  int up_ports = 0;               // per switch; 0 in the highest tier
  int up_gbps = 0;                // of each
  int stripes = 1;                // of this tier as seen from the tier below
  // Its switches spread the packets of one flow over all links that lead on (adaptive routing,
  // packet spraying) instead of hashing the flow onto one.
  bool spraying = false;
  int rails_per_switch = 1;  // with per_rail; divides the rails, and what the tier above has
};

// Which hosts are kept as backup: those that label or taint mark, or, besides them, as many of each
// segment as the policy says (plan/backup_pool.h).
enum class BackupWhich { kMarked, kChosen };

// How many hosts of a segment are kept free, and what happens when they are used up.
struct BackupPolicy {
  int hosts_per_segment = 0;
  bool borrow_in_segment = true;      // then a free ordinary host of the segment may step in
  bool borrow_in_fabric_pod = false;  // then one of the fabric pod; otherwise the slot waits
  bool lend_to_preemptible = false;   // spares may run jobs marked preemptible meanwhile
  double ratio = 0;                   // of a segment's hosts, rounded up; the larger number counts
  BackupWhich which = BackupWhich::kMarked;
};

// The K network priorities that switches and NICs of this fabric can tell apart (Crux section 4.3).
struct NetworkLevels {
  int count = 8;
  std::vector<int> reserved;  // levels that no job is assigned; 0 is the lowest
  // Level -> IP traffic class byte (DSCP * 4). Levels that are missing: traffic_class.h.
  std::map<int, int> traffic_class_of_level;
};

// Where a host does not name its NICs' addresses (HostPlace::nic_addresses), a NIC's is base + host
// * rails + rail, with the host's dense id. `base` is IPv4 or IPv6; empty: not stated, and nothing
// is predicted for hosts that do not name their addresses.
struct Addressing {
  std::string base;
};

// Domains: hosts that share a scale-up network, a level between host and segment.
struct ScaleUp {
  // Node labels whose value is the domain; of these the first that a Node has. A Node without any
  // is a domain of its own.
  std::string label = "yardmaster.dev/domain";
  std::vector<std::string> more_labels;
  int hosts_per_domain = 0;         // with the backup hosts; 0: not stated
  int backup_hosts_per_domain = 0;  // of each: as rendered Nodes are marked, or are chosen
};

struct FabricSpec {
  std::string name = "fabric";
  // Which node labels name the place of a host.
  std::string fabric_pod_label = "yardmaster.dev/fabric-pod";
  std::string segment_label = "yardmaster.dev/segment";
  int gpus_per_host = 8;
  std::string gpu_resource = "nvidia.com/gpu";  // the extended resource that hosts are counted by
  int rails = 8;
  int planes = 2;
  int nic_ports = 2;   // per rail
  int nic_gbps = 200;  // per port
  // The NICs spread one flow's packets over their ports and over all equal paths (Spectrum-X, MRC,
  // multi-plane load balancing), whatever the switches do: every link of those carries an equal
  // part, and there is no source port to choose.
  bool nic_spraying = false;
  double nvlink_gbps = 3600;  // per GPU and direction, inside a domain
  ScaleUp scale_up;
  // The size the fabric was built for; Nodes say what is really there.
  int fabric_pods = 1;
  int segments_per_fabric_pod = 1;
  int hosts_per_segment = 1;  // with the backup hosts
  BackupPolicy backup;
  NetworkLevels levels;
  Addressing addressing;
  std::vector<Tier> tiers;
  // By the tier's role. A switch whose id, Network::name, is in `ecmp_hash_overrides` has that hash
  // instead. The hash of a role that is missing is not predictable.
  std::map<std::string, HashSpec> ecmp_hash;
  std::map<std::string, HashSpec> ecmp_hash_overrides;
  // What the operators of the network call a switch, by its id. People are shown these names and
  // may use them in commands, annotations and reports; what programs read, and the other fields of
  // a Fabric, have ids alone. So an edit of names changes no path.
  std::map<std::string, std::string> switch_names;
  // Switches, by id, that some places do not have. Their cables are always down, and no fault.
  std::vector<std::string> absent_switches;
};

// Whether the packets of one flow are spread where switches of tier `tier` have a choice.
// REQUIRES: 0 <= tier < tiers.size().
inline bool Sprays(const FabricSpec& spec, int tier) {
  return spec.nic_spraying || spec.tiers[static_cast<std::size_t>(tier)].spraying;
}

// Everything that is wrong with the spec, each as "spec.tiers[1].downPorts: ...; ...". Empty:
// valid.
std::vector<std::string> Problems(const FabricSpec& spec);
// OK, or InvalidArgument with all problems joined by newlines, each prefixed with the fabric's
// name.
absl::Status Validate(const FabricSpec& spec);

// An entry of switch_names that the Fabric is refused for.
struct SwitchNameProblem {
  std::string own;    // the switch's id
  std::string other;  // the id of another switch with the same name; empty: not the reason
  std::string what;
  std::string fix;
};
// By id. A name is empty or has ':' or '/', belongs to two switches, may be the id of another
// switch, or stands in place of the id in absent_switches. O(names * tiers + absent_switches) map
// operations.
std::vector<SwitchNameProblem> SwitchNameProblems(const FabricSpec& spec);

// Neighbouring rails that share one set of switches of the tier: all where it is not per rail.
// REQUIRES: 0 <= tier < tiers.size().
int RailsPerSwitch(const FabricSpec& spec, int tier);

// The id of a switch, or of a cable, link or port that begins with one and ':', with the switch as
// its operators call it; and the other way round. Other text, and a host's NIC port ("host:r0p1"),
// comes back as it is. The second costs O(switch_names).
std::string ShownName(const FabricSpec& spec, std::string_view name);
std::string OwnName(const FabricSpec& spec, std::string_view shown);

// Lower switches of one place that hang under one group of switches of tier `upper` (its rails may
// collapse into it), and links between each wired pair. REQUIRES: 1 <= upper < tiers.size().
int LowerSwitchesPerPlace(const FabricSpec& spec, int upper);
int LinksPerPair(const FabricSpec& spec, int upper);

}  // namespace yardmaster::fabric
