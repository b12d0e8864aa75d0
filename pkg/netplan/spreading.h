// Models flows whose packets are spread: which links carry which part of them.
//
// A switch that sprays (fabric::Sprays) sends an equal part over every link that leads on. A switch
// that hashes sends all of a flow over one link. A flow has one *way* for each choice of the
// hashing switches on its path, numbered as in Routes: way w takes link w modulo the links that
// lead on.
//
// Links that all flows use alike form one *bundle*, so that a flow over 256 Agg switches has four
// entries and not a thousand.
//   - If every choice is sprayed, equivalent switches form one class: same tier, place, rail and
//     stripes, and no cable lost. If NICs spray, planes without a lost cable are equivalent, too.
//   - A switch that has lost some cables is a class of its own. If more than kMostDamaged of a
//     place and plane have, those that lost least count as whole, and what their neighbours carry
//     for them is spread over the class.
//   - If a tier hashes, every link is its own bundle.
//
// Complexity: construction is O(cables) if some are down; a pair of ToRs is O(uplinks), once.
// Lifetimes: the network and `unusable` outlive the object; returned references are valid as long
// as the object. Deterministic; ids of bundles depend on the order of calls. Thread safety: one
// thread.
#pragma once

#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"

#include "pkg/fabric/network.h"
#include "pkg/netplan/routes.h"

namespace yardmaster::netplan {

class Spreading {
 public:
  // Maximum of damaged switches with their own class, per place and plane of a tier.
  static constexpr int kMostDamaged = 16;

  struct Bundle {
    std::vector<fabric::LinkId> links;  // rising, usable ones
    double gbps = 0;                    // of all together
  };
  struct Part {
    std::int32_t bundle = 0;
    double share = 0;  // of the flow, by all links of the bundle together
    bool operator==(const Part&) const = default;
  };
  // The ways from ToR to ToR; empty: no way leads there.
  struct Ways {
    std::vector<Route> routes;             // by way: links that the flow uses, one at each switch
    std::vector<std::vector<Part>> parts;  // by way; by bundle
    bool hashed = false;                   // some switch chooses by a hash
  };

  // `unusable` by CableId; empty: all can be used.
  Spreading(const fabric::Network& network, const std::vector<std::uint8_t>& unusable);

  // True if the NICs or the switches of a tier spray.
  static bool Needed(const fabric::FabricSpec& spec);

  const Ways& Between(const fabric::NicPort& from, const fabric::NicPort& to);
  // Returns the load of a flow between NICs that spray, including the links of the hosts. Empty:
  // there is no way. REQUIRES: host.nicSpraying.
  std::vector<Part> BetweenNics(const fabric::NicPort& from, const fabric::NicPort& to);

  const Bundle& bundle(std::int32_t id) const { return bundles_[static_cast<std::size_t>(id)]; }

 private:
  using ClassId = std::int32_t;
  using ClassKey = std::tuple<int, int, int, int, int, int, int>;
  // The links of a switch that lead on to one class.
  struct Onward {
    ClassId to = 0;
    fabric::SwitchId via;  // of that class, for all that are reached
    std::vector<fabric::LinkId> links;
  };
  struct Walk;

  bool Usable(fabric::CableId cable) const {
    return unusable_.empty() || unusable_[cable.index()] == 0;
  }
  void CountDamage();
  void Classify();
  ClassKey KeyOf(fabric::SwitchId at) const;
  int PlaneKey(int plane) const;
  ClassId class_of(fabric::SwitchId at) const { return classes_[at.index()]; }
  // A switch that leads on to the target, for all of the class that `way` reaches; invalid: none.
  fabric::SwitchId Leading(const Onward& way, Walk& walk) const;
  fabric::SwitchId representative(ClassId id) const { return best_[static_cast<std::size_t>(id)]; }

  const std::vector<Onward>& OnwardFrom(fabric::SwitchId at, Walk& walk) const;
  void Spread(fabric::SwitchId at, double weight, int depth, Walk& walk);
  Route RouteOf(fabric::SwitchId from, Walk& walk) const;
  std::int32_t BundleOf(fabric::LinkId link);
  std::int32_t BundleOfLinks(std::vector<fabric::LinkId> links);
  void BundleUplinks(ClassId lower);

  const fabric::Network& network_;
  const std::vector<std::uint8_t>& unusable_;
  const Routes nics_;                 // asked for ports of NICs
  bool merged_ = false;               // classes hold more than one switch
  std::vector<char> damaged_planes_;  // by plane: some cable in it is lost
  std::vector<int> lost_;             // by switch: cables lost; the most there can be where all are
  std::vector<char> alone_;           // by switch: a class of its own
  std::vector<ClassId> classes_;      // by switch
  std::vector<fabric::SwitchId> best_;                  // by class: the member that lost least
  std::vector<std::vector<fabric::SwitchId>> members_;  // by class
  std::vector<Bundle> bundles_;
  absl::flat_hash_map<std::uint64_t, std::int32_t> between_classes_;
  absl::flat_hash_map<fabric::LinkId, std::int32_t> by_first_link_;
  absl::flat_hash_map<std::pair<fabric::SwitchId, fabric::SwitchId>, std::unique_ptr<Ways>> ways_;
};

}  // namespace yardmaster::netplan
