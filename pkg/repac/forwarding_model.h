// ForwardingModel predicts forwarding: for every switch and destination, the ECMP group that
// remains after failures, and the hash that chooses a member.
//
//   - Routing is that of a folded Clos with BGP: up until the destination is below, then down,
//     never up again. A switch withdraws what it cannot reach, so a member is in a group only if it
//     leads to the destination.
//   - Exception: a ToR whose own cable to the NIC is down, while another ToR of the same plane has
//     one, sends packets up and around, as host routes do.
//   - Members keep their configured order. When members are lost, later ones move up, so their
//     indices change. A hash's GroupRule may differ: presets by ingress port keep their positions,
//     and a group with resilient buckets that lost a member follows its configured table or is
//     unpredictable.
//   - `down` cables are those that routing has noticed. A failed cable that routing has not noticed
//     still gets packets; planners avoid it (planner options), and predictions use it.
//   - Ports of a switch are numbered from 1: down ports in the order of their cables' ids, then up
//     ports. Hashes of the ingress port and tables by port use these numbers.
//
// Lifetimes: `network` outlives the model. Thread safety: one thread per model, because const
// methods fill caches. Deterministic.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"

#include "pkg/fabric/link_path.h"
#include "pkg/fabric/network.h"
#include "pkg/repac/hash_model.h"
#include "pkg/repac/hash_threshold.h"

namespace yardmaster::repac {

using fabric::CableId;
using fabric::LinkId;
using fabric::LinkPath;
using fabric::NicPort;
using fabric::SwitchId;

// The compiled hashes of a fabric's roles, and of the switches with their own hashes. Compiled once
// per fabric generation and shared by all forwarding models. Thread safety: immutable.
class SwitchHashes {
 public:
  struct Pair {
    HashModel hash;
    std::shared_ptr<const HashModel> lag;  // null: no LAG inside
    // A group is its links that are up, in order: no LAG, no GroupRule.
    bool plain = true;
  };
  // Errors: InvalidArgument if a hash is invalid or an override names no switch. `mistrusted`: role
  // -> reason. These roles are treated as unpredictable, and the overrides of their switches are
  // ignored.
  static absl::StatusOr<std::shared_ptr<const SwitchHashes>> Compile(
      const fabric::Network& network, const std::map<std::string, std::string>& mistrusted = {});

  const Pair& of(SwitchId id, int tier) const;
  // Whether any hash depends on the ingress port.
  bool uses_ingress_ports() const { return uses_ingress_ports_; }

 private:
  void Note(const fabric::HashSpec& spec);
  std::vector<Pair> by_tier_;
  std::map<SwitchId, Pair> overrides_;
  bool uses_ingress_ports_ = false;
};

// One ECMP decision.
struct Group {
  // The members among which the hash chooses: links, repeated by bucket or, without thresholds, by
  // weight. With LAGs: for every neighbour the first link that is up.
  std::vector<LinkId> slots;
  // Upper bounds of the slots, if the hash chooses by threshold. Empty: modulo.
  Thresholds thresholds;
  // By slot: the parallel links among which a second hash chooses; empty without LAGs.
  std::vector<std::vector<LinkId>> lags;
  // By ingress port modulo size. An invalid id (its link is down), and an empty list, leave the
  // choice to the hash.
  std::vector<LinkId> preset;
  const HashModel* hash = nullptr;
  const HashModel* lag_hash = nullptr;
  // Why the choice cannot be predicted although the hash can be computed; empty if it can.
  std::string blocked;

  bool unreachable() const { return slots.empty(); }
  // Whether the slot of a packet can be computed, if no preset decides. REQUIRES: !unreachable().
  bool predictable() const { return slots.size() == 1 || (blocked.empty() && hash->predictable()); }
  // REQUIRES: !unreachable().
  std::size_t SlotOf(std::uint64_t hash) const { return MemberOf(hash, slots.size(), thresholds); }
  // Whether there is only one link.
  bool forced() const {
    return preset.empty() && slots.size() == 1 && (lags.empty() || lags[0].size() == 1);
  }
};

// How a choice that switches make per packet (fabric::Tier::spraying) is modelled.
enum class SprayedChoice {
  kUnknown,  // unpredictable
  // Later hashes decide equally on every link, so the first link stands for all. A path then has
  // one of the links that carry it, and a source port decides where hashes do.
  kFirst,
};

class ForwardingModel {
 public:
  ForwardingModel(const fabric::Network& network, std::shared_ptr<const SwitchHashes> hashes,
                  const std::vector<CableId>& down,
                  SprayedChoice sprayed = SprayedChoice::kUnknown);

  const fabric::Network& network() const { return network_; }
  bool is_down(CableId cable) const { return down_[cable.index()] != 0; }
  // Number of switches of the lowest tier. Their ids come first.
  int num_tors() const { return num_tors_; }
  // Returns the group for a packet to (dst.host, dst.rail) in dst's plane. `from_above`: it arrived
  // from the next tier up.
  const Group& group(SwitchId at, bool from_above, const NicPort& dst) const;
  // Returns the link by which a ToR delivers a packet from above, if the ToR's groups are plain and
  // exactly one link is up; else an invalid id, and group() has the answer.
  LinkId Delivery(SwitchId at, const NicPort& dst) const;
  // Returns the number of the port of far_end(link) at which `link` ends; 0 if no hash needs it.
  // REQUIRES: `link` ends at a switch.
  std::uint16_t ingress_port(LinkId link) const;
  // Returns why no path between the NICs can be predicted, regardless of the switches: the NICs
  // spray, or an address is not known, or the addresses have different kinds. nullopt: none of
  // these.
  std::optional<std::string> WhyUnknown(const NicPort& src, const NicPort& dst) const;
  // Returns the headers of a RoCE packet between two NICs. REQUIRES: WhyUnknown(src, dst) is
  // nullopt.
  Packet PacketOf(const NicPort& src, const NicPort& dst, std::uint16_t sport) const;

 private:
  std::uint64_t KeyOf(SwitchId at, bool from_above, const NicPort& dst) const;
  Group Build(SwitchId at, bool from_above, const NicPort& dst) const;
  bool Leads(LinkId link, const NicPort& dst) const;
  std::vector<LinkId> UpLinks(SwitchId at) const;
  void FillSlots(const std::vector<LinkId>& all, const std::vector<char>& alive,
                 const SwitchHashes::Pair& hashes, Group& group) const;

  const fabric::Network& network_;
  std::shared_ptr<const SwitchHashes> hashes_;
  const SprayedChoice sprayed_;
  std::vector<char> down_;  // by cable
  bool any_down_ = false;
  int num_tors_ = 0;
  bool all_known_ = true;                  // WhyUnknown() is nullopt for every pair
  std::vector<std::uint16_t> down_ports_;  // by cable: the port at its upper switch
  mutable absl::flat_hash_map<std::uint64_t, const Group*> cache_;
  mutable std::deque<Group> groups_;
};

}  // namespace yardmaster::repac
