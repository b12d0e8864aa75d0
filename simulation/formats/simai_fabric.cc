#include "simulation/formats/simai_fabric.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "simulation/formats/simai_wiring.h"

namespace yardmaster::sim {

namespace {

// A switch as the tier above sees it. `rail` is -1 where it serves all, `plane` counts NIC ports.
struct Lower {
  int id = 0;
  int place = 0;  // segment, or fabric pod
  int rail = -1;
  int plane = 0;
  int group = -1;  // which set of switches it meets above
};

class Importer {
 public:
  Importer(const SimAiTopology& topology, const std::string& name) : in_(topology), name_(name) {}

  absl::StatusOr<SimAiFabric> Run() {
    if (in_.switches == 0) {
      return Wrong("has no switches but NVSwitches", "there is no network to describe");
    }
    YM_ASSIGN_OR_RETURN(wiring_, ReadSimAiWiring(in_, name_));
    spec().nic_gbps = wiring_.nic_gbps;
    spec().gpus_per_host = spec().rails = in_.gpus_per_server;
    spec().nic_ports = wiring_.nic_ports;
    if (wiring_.nvlink_gbps > 0) spec().nvlink_gbps = wiring_.nvlink_gbps;
    YM_RETURN_IF_ERROR(DescribeToRs());
    if (!wiring_.ups.empty()) YM_RETURN_IF_ERROR(DescribeAggs());
    if (!NextIsEmpty()) YM_RETURN_IF_ERROR(DescribeCores());
    return Finish();
  }

 private:
  fabric::FabricSpec& spec() { return out_.fabric.spec; }

  absl::Status Wrong(const std::string& problem, const std::string& fix) const {
    return WrongSimAi(name_, 0, problem, fix);
  }

  absl::Status DescribeToRs() {
    const auto ports = static_cast<std::size_t>(spec().nic_ports);
    const int together = RailsPerToR();
    if (together == 0) {
      return Wrong("ports of one server share ToRs in an irregular way",
                   "use a ToR for every rail and port, for equally many neighbouring rails, or one "
                   "for each port number");
    }
    fabric::Tier tor;
    tor.role = "tor";
    tor.switches = static_cast<int>(ports);
    tor.per_rail = together < spec().rails;
    if (tor.per_rail) tor.rails_per_switch = together;
    tor.down_gbps = spec().nic_gbps;
    spec().hosts_per_segment = *std::max_element(wiring_.hosts_of.begin(), wiring_.hosts_of.end());
    tor.down_ports = spec().hosts_per_segment * together;
    spec().tiers = {tor};
    spec().planes = 1;
    for (std::size_t s = 0; s < wiring_.tors_of.size(); ++s) {
      const std::vector<int>& tors = wiring_.tors_of[s];
      for (std::size_t i = 0; i < tors.size(); ++i) {
        const int rail = static_cast<int>(i / ports);
        if (rail % together != 0) continue;
        lowers_.push_back({tors[i], static_cast<int>(s), tor.per_rail ? rail : -1,
                           static_cast<int>(i % ports), -1});
        seen_.insert(tors[i]);
      }
    }
    return absl::OkStatus();
  }

  // The number of neighbouring rails whose NICs end, port by port, at the same ToRs, and no others;
  // 0 where there is no such number.
  int RailsPerToR() const {
    const auto ports = static_cast<std::size_t>(wiring_.nic_ports);
    const auto rails = static_cast<std::size_t>(in_.gpus_per_server);
    const auto fits = [&](const std::vector<int>& tors, std::size_t together) {
      const std::set<int> distinct(tors.begin(), tors.end());
      if (distinct.size() * together != tors.size()) return false;
      for (std::size_t i = 0; i < tors.size(); ++i) {
        const std::size_t rail = i / ports;
        if (tors[i] != tors[(rail - rail % together) * ports + i % ports]) return false;
      }
      return true;
    };
    for (std::size_t together = 1; together <= rails; ++together) {
      if (rails % together != 0) continue;
      if (std::all_of(wiring_.tors_of.begin(), wiring_.tors_of.end(),
                      [&](const std::vector<int>& tors) { return fits(tors, together); })) {
        return static_cast<int>(together);
      }
    }
    return 0;
  }

  absl::Status CheckAlike(int lower, int upper, const Bundle& bundle, const Bundle& common) const {
    if (common.cables == bundle.cables && common.gbps == bundle.gbps) return absl::OkStatus();
    return Wrong(
        StrCat("switches ", lower, " and ", upper, " have ", bundle.cables, " x ", bundle.gbps,
               " Gb/s, others of their tier ", common.cables, " x ", common.gbps, " Gb/s"),
        "switches of one tier are cabled alike");
  }

  // Finds what each lower switch meets above, and adds a tier with what is common to all.
  absl::Status AddTier(const char* role, fabric::Scope scope) {
    std::map<std::set<int>, int> groups;
    std::map<int, int> group_of_upper;
    std::optional<Bundle> common;
    fabric::Tier& below = spec().tiers.back();
    for (Lower& lower : lowers_) {
      std::set<int> uppers;
      for (const auto& [upper, bundle] : wiring_.ups[lower.id]) {
        if (below_.count(upper) != 0) continue;  // the way down
        if (seen_.count(upper) != 0) {
          return Wrong(StrCat("switches ", lower.id, " and ", upper, " of one tier are linked"),
                       "a Fabric has cables between neighbouring tiers only");
        }
        if (!common) common = bundle;
        YM_RETURN_IF_ERROR(CheckAlike(lower.id, upper, bundle, *common));
        uppers.insert(upper);
      }
      const auto at = groups.emplace(uppers, static_cast<int>(groups.size())).first;
      lower.group = at->second;
      if (uppers.size() != groups.begin()->first.size() || uppers.empty()) {
        return Wrong(
            StrCat("switch ", lower.id, " is linked to ", uppers.size(),
                   " switches above it, another of its tier to ", groups.begin()->first.size()),
            "switches of one tier are cabled alike");
      }
      for (int upper : uppers) {
        if (group_of_upper.emplace(upper, lower.group).first->second == lower.group) continue;
        return Wrong(StrCat("switch ", lower.id, " meets switch ", upper,
                            " and others that do "
                            "not meet the same switches below"),
                     "make groups of switches in which every pair is connected");
      }
    }
    fabric::Tier tier;
    tier.role = role;
    tier.scope = scope;
    YM_ASSIGN_OR_RETURN(tier.down_gbps, WholeGbps(common->gbps, name_));
    below.up_gbps = tier.down_gbps;
    tier.switches = static_cast<int>(groups.begin()->first.size());
    below.up_ports = tier.switches * common->cables;
    if (const int together = RailsPerGroup(below)) {
      tier.per_rail = true;
      tier.rails_per_switch = together;
    }
    tier.per_plane = Separates([](const Lower& lower) { return lower.plane; });
    spec().tiers.push_back(tier);
    members_.assign(groups.size(), {});
    for (const auto& [uppers, group] : groups) {
      members_[static_cast<std::size_t>(group)].assign(uppers.begin(), uppers.end());
    }
    return absl::OkStatus();
  }

  // The smallest number of neighbouring rails that share a group with no others, which is not that
  // of all rails; 0: rails are mixed.
  int RailsPerGroup(const fabric::Tier& below) const {
    const int rails = spec_of().rails;
    for (int together = below.rails_per_switch; below.per_rail && together < rails; ++together) {
      if (rails % together != 0 || together % below.rails_per_switch != 0) continue;
      if (Separates([&](const Lower& lower) { return lower.rail / together; })) return together;
    }
    return 0;
  }

  // Whether lower switches that differ in `dimension` never share a group.
  template <typename Dimension>
  bool Separates(Dimension dimension) const {
    std::map<int, std::set<int>> values;
    std::set<int> all;
    for (const Lower& lower : lowers_) {
      values[lower.group].insert(dimension(lower));
      all.insert(dimension(lower));
    }
    return all.size() > 1 && std::all_of(values.begin(), values.end(),
                                         [](const auto& v) { return v.second.size() == 1; });
  }

  // Segments that share an Agg are a fabric pod.
  absl::Status DescribeAggs() {
    YM_RETURN_IF_ERROR(AddTier("agg", fabric::Scope::kFabricPod));
    fabric::Tier& tor = spec().tiers[0];
    fabric::Tier& agg = spec().tiers[1];
    if (agg.per_plane) {
      spec().planes = spec().nic_ports;
      tor.switches = 1;
    }
    agg.per_plane = true;  // with one plane it makes no difference
    std::vector<int> pod(wiring_.tors_of.size());
    std::iota(pod.begin(), pod.end(), 0);
    std::map<int, int> pod_of_group;
    for (bool changed = true; changed;) {
      changed = false;
      for (const Lower& lower : lowers_) {
        int& mine = pod[static_cast<std::size_t>(lower.place)];
        int& theirs = pod_of_group.emplace(lower.group, mine).first->second;
        changed |= mine != theirs;
        mine = theirs = std::min(mine, theirs);
      }
    }
    std::map<int, int> dense;
    for (int p : pod) dense.emplace(p, static_cast<int>(dense.size()));
    segments_of_.assign(dense.size(), 0);
    for (int p : pod) ++segments_of_[static_cast<std::size_t>(dense.at(p))];
    YM_RETURN_IF_ERROR(CheckGroups(pod, 1));
    Climb(pod, dense);
    return absl::OkStatus();
  }

  // Every (place above, rail, plane) has exactly `stripes` groups of its own. `above` by place.
  absl::Status CheckGroups(const std::vector<int>& above, int stripes) const {
    const fabric::Tier& tier = spec_of().tiers.back();
    std::map<std::vector<int>, std::set<int>> groups;
    for (const Lower& lower : lowers_) {
      groups[{above[static_cast<std::size_t>(lower.place)], RailAbove(lower),
              spec_of().planes > 1 && tier.per_plane ? lower.plane : -1}]
          .insert(lower.group);
    }
    std::size_t sum = 0;
    for (const auto& [key, found] : groups) {
      sum += found.size();
      if (static_cast<int>(found.size()) == stripes) continue;
      return Wrong(StrCat("the ", tier.role, " switches form ", found.size(),
                          " groups where others form ", stripes),
                   "cable every rail, plane and place alike");
    }
    if (sum != members_.size()) {
      return Wrong(StrCat("the ", tier.role, " switches are shared unevenly"),
                   "cable every rail, plane and place alike");
    }
    return absl::OkStatus();
  }
  const fabric::FabricSpec& spec_of() const { return out_.fabric.spec; }

  // The first rail of the switches above; -1: they serve all.
  int RailAbove(const Lower& lower) const {
    const fabric::Tier& tier = spec_of().tiers.back();
    return tier.per_rail ? lower.rail - lower.rail % tier.rails_per_switch : -1;
  }

  // The switches above become the lower ones.
  void Climb(const std::vector<int>& above, const std::map<int, int>& dense) {
    std::vector<Lower> next;
    std::set<int> done;
    for (const Lower& lower : lowers_) {
      below_.insert(lower.id);
      if (!done.insert(lower.group).second) continue;
      for (int id : members_[static_cast<std::size_t>(lower.group)]) {
        next.push_back({id, dense.at(above[static_cast<std::size_t>(lower.place)]),
                        RailAbove(lower), spec().planes > 1 ? lower.plane : 0, -1});
      }
    }
    lowers_ = std::move(next);
    seen_.clear();
    for (const Lower& lower : lowers_) seen_.insert(lower.id);
  }

  // Whether nothing stands above the lower switches.
  bool NextIsEmpty() {
    return std::all_of(lowers_.begin(), lowers_.end(), [this](const Lower& lower) {
      const auto& ends = wiring_.ups[lower.id];
      return std::all_of(ends.begin(), ends.end(),
                         [this](const auto& end) { return below_.count(end.first) != 0; });
    });
  }

  absl::Status DescribeCores() {
    YM_RETURN_IF_ERROR(AddTier("core", fabric::Scope::kFabric));
    fabric::Tier& core = spec().tiers[2];
    if (spec().planes == 1) core.per_plane = true;
    // Groups that one fabric pod's switches of one rail and plane meet are stripes.
    std::set<int> stripes;
    for (const Lower& lower : lowers_) {
      if (lower.place == lowers_[0].place && lower.rail == lowers_[0].rail &&
          lower.plane == lowers_[0].plane) {
        stripes.insert(lower.group);
      }
    }
    core.stripes = static_cast<int>(stripes.size());
    core.switches *= core.stripes;
    YM_RETURN_IF_ERROR(CheckGroups(std::vector<int>(segments_of_.size(), 0), core.stripes));
    Climb(std::vector<int>(segments_of_.size(), 0), {{0, 0}});
    if (!NextIsEmpty()) return Wrong("has more than 3 tiers of switches", "3 are read");
    return absl::OkStatus();
  }

  absl::StatusOr<SimAiFabric> Finish() {
    const std::size_t tiers = spec().tiers.size();
    if (segments_of_.empty()) segments_of_.assign(wiring_.tors_of.size(), 1);
    if (segments_of_.size() > 1 && tiers < 3) {
      return Wrong(StrCat(segments_of_.size(), " parts that no switch joins"),
                   "link them, or import each on its own");
    }
    out_.fabric.metadata.name = spec().name = "simai";
    spec().fabric_pods = static_cast<int>(segments_of_.size());
    spec().segments_per_fabric_pod = *std::max_element(segments_of_.begin(), segments_of_.end());
    for (std::size_t t = 1; t < tiers; ++t) {
      fabric::Tier& tier = spec().tiers[t];
      const int places = t == 1 ? spec().segments_per_fabric_pod : spec().fabric_pods;
      tier.down_ports = places * fabric::LowerSwitchesPerPlace(spec(), static_cast<int>(t)) /
                        tier.stripes * fabric::LinksPerPair(spec(), static_cast<int>(t));
    }
    for (const fabric::Tier& tier : spec().tiers) {
      fabric::HashSpec hash;
      hash.reason = "imported from SimAI, whose files do not say how switches hash";
      spec().ecmp_hash[tier.role] = hash;
    }
    out_.notes.push_back(
        "the file does not say how switches hash; describe it in spec.ecmpHash to get path plans");
    const int hosts = std::accumulate(wiring_.hosts_of.begin(), wiring_.hosts_of.end(), 0);
    const int room = spec().fabric_pods * spec().segments_per_fabric_pod * spec().hosts_per_segment;
    if (hosts < room) {
      out_.notes.push_back(StrCat("the file has ", hosts, " servers; spec.size, which is regular, ",
                                  "has room for ", room));
    }
    if (const absl::Status valid = fabric::Validate(spec()); !valid.ok()) {
      return Annotate(valid, name_);
    }
    return std::move(out_);
  }

  const SimAiTopology& in_;
  const std::string& name_;
  SimAiFabric out_;
  SimAiWiring wiring_;
  std::vector<int> segments_of_;           // by fabric pod
  std::vector<Lower> lowers_;              // the highest tier described so far
  std::vector<std::vector<int>> members_;  // by group of the tier above it
  std::set<int> seen_;                     // ids of lowers_
  std::set<int> below_;                    // ids of all tiers below it
};

}  // namespace

absl::StatusOr<SimAiFabric> ImportSimAi(const SimAiTopology& topology, const std::string& name) {
  return Importer(topology, name).Run();
}

}  // namespace yardmaster::sim
