// The network as packets see it: for every switch and destination the ECMP group that routing
// leaves after failures, and the hash that chooses in it.
//
// Routing is that of a folded Clos with BGP: up until the destination hangs below, then down, never
// up again; a switch withdraws what it cannot reach, so a member is in a group only if it leads to
// the destination. The one exception is a ToR whose own cable to the NIC is down while another ToR
// of the same plane still has one: it sends up and around, as host routes do. Members keep their
// configured order; lost ones leave and the later ones move up, so their indices change. A hash's
// GroupRule may say otherwise: presets by ingress port keep their places, and a group with
// resilient buckets that lost a member follows its configured table or is unpredictable.
//
// `down` cables are those routing has noticed. What has failed and is not noticed yet still takes
// packets; planners avoid it (planner options), predictions go through it.
//
// Ports of a switch are numbered from 1: down ports in the order of their cables' ids, then up
// ports. (Hashes over the ingress port and per-port tables mean these numbers.)
//
// Lifetimes: `network` must outlive the model. Thread safety: none, const methods fill caches; make
// one model per thread. Determinism: complete.
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

// The compiled hashes of a fabric's roles and of the switches with their own; made once per fabric
// generation and shared by all forwarding models. Thread safety: immutable.
class SwitchHashes {
 public:
  struct Pair {
    HashModel hash;
    std::shared_ptr<const HashModel> lag;  // null: no LAG inside
    // Groups are their living links in order: no LAG, no GroupRule.
    bool plain = true;
  };
  // Errors: InvalidArgument when a hash is wrong or an override names no switch.
  // `mistrusted`: roles whose hashes are not used, and why; they are treated as unpredictable, and
  // the overrides of their switches are not used either.
  static absl::StatusOr<std::shared_ptr<const SwitchHashes>> Compile(
      const fabric::Network& network, const std::map<std::string, std::string>& mistrusted = {});

  const Pair& of(SwitchId id, int tier) const;
  // Whether any hash depends on the port a packet came in by.
  bool uses_ingress_ports() const { return uses_ingress_ports_; }

 private:
  void Note(const fabric::HashSpec& spec);
  std::vector<Pair> by_tier_;
  std::map<SwitchId, Pair> overrides_;
  bool uses_ingress_ports_ = false;
};

// One ECMP decision.
struct Group {
  // What the hash chooses among: links, repeated by bucket or, without thresholds, by weight; with
  // LAGs inside, the first living link to every neighbour.
  std::vector<LinkId> slots;
  // Where the hash chooses by threshold: the slots' upper bounds. Empty: modulo.
  Thresholds thresholds;
  // Per slot the parallel links a second hash chooses among; empty without LAGs.
  std::vector<std::vector<LinkId>> lags;
  // By ingress port modulo size; an invalid id (its link is down) and an empty list leave it to the
  // hash.
  std::vector<LinkId> preset;
  const HashModel* hash = nullptr;
  const HashModel* lag_hash = nullptr;
  // Why the choice cannot be predicted although the hash can be evaluated; empty if it can.
  std::string blocked;

  bool unreachable() const { return slots.empty(); }
  // Whether the slot of a packet can be told, where no preset decides. REQUIRES: !unreachable().
  bool predictable() const { return slots.size() == 1 || (blocked.empty() && hash->predictable()); }
  // REQUIRES: !unreachable().
  std::size_t SlotOf(std::uint64_t hash) const { return MemberOf(hash, slots.size(), thresholds); }
  // Only one way: nothing is chosen.
  bool forced() const {
    return preset.empty() && slots.size() == 1 && (lags.empty() || lags[0].size() == 1);
  }
};

// What is known of a choice that switches make packet by packet (fabric::Tier::spraying).
enum class SprayedChoice {
  kUnknown,  // nothing
  // That the hashes behind it decide alike on every link: the first of its links stands for all. A
  // path has one of the links that carry it then, and a source port decides where hashes do.
  kFirst,
};

class ForwardingModel {
 public:
  ForwardingModel(const fabric::Network& network, std::shared_ptr<const SwitchHashes> hashes,
                  const std::vector<CableId>& down,
                  SprayedChoice sprayed = SprayedChoice::kUnknown);

  const fabric::Network& network() const { return network_; }
  bool is_down(CableId cable) const { return down_[cable.index()] != 0; }
  // Switches of the lowest tier, whose ids come first.
  int num_tors() const { return num_tors_; }
  // The group a packet to (dst.host, dst.rail) meets in dst's plane; it came in from the next tier
  // up if `from_above`.
  const Group& group(SwitchId at, bool from_above, const NicPort& dst) const;
  // The link by which a ToR that was reached from above delivers, where the ToR's groups are plain
  // and just one link is up; else an invalid id, and group() has the answer.
  LinkId Delivery(SwitchId at, const NicPort& dst) const;
  // The number of the port of far_end(link) that `link` ends at. 0 if no hash needs it.
  // REQUIRES: `link` ends at a switch.
  std::uint16_t ingress_port(LinkId link) const;
  // Why no path between the two NICs can be predicted, independently of the switches: the NICs
  // spray, or an address is not known, or the two are of different kinds. nullopt: they do not
  // prevent it.
  std::optional<std::string> WhyUnknown(const NicPort& src, const NicPort& dst) const;
  // Headers of a RoCE packet between two NICs. REQUIRES: WhyUnknown(src, dst) is nullopt.
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
  bool all_known_ = true;                  // WhyUnknown() is nothing for every pair
  std::vector<std::uint16_t> down_ports_;  // by cable: the port at its upper switch
  mutable absl::flat_hash_map<std::uint64_t, const Group*> cache_;
  mutable std::deque<Group> groups_;
};

}  // namespace yardmaster::repac
