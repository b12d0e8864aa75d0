#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/cli/input/fabric_import.h"

namespace yardmaster::cli {

namespace {

// All parallel cables of two switches.
struct Bundle {
  int cables = 0;
  double gbps = 0;
};

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

  absl::StatusOr<ImportedFabric> Run() {
    if (in_.switches == 0) {
      return Wrong(0, "has no switches but NVSwitches", "there is no network to describe");
    }
    YM_RETURN_IF_ERROR(ReadHosts());
    YM_RETURN_IF_ERROR(FindSegments());
    YM_RETURN_IF_ERROR(DescribeToRs());
    if (!ups_.empty()) YM_RETURN_IF_ERROR(DescribeAggs());
    if (!NextIsEmpty()) YM_RETURN_IF_ERROR(DescribeCores());
    return Finish();
  }

 private:
  fabric::FabricSpec& spec() { return out_.fabric.spec; }

  absl::Status Wrong(int line, const std::string& problem, const std::string& fix) const {
    return FieldError(line > 0 ? StrCat(name_, ":", line) : name_, problem, fix);
  }

  absl::StatusOr<int> Whole(double gbps) const {
    if (gbps != std::floor(gbps) || gbps > 1'000'000) {
      return Wrong(0, StrCat(gbps, " Gb/s is not a whole number"), "give whole Gb/s");
    }
    return static_cast<int>(gbps);
  }

  // The ToR of every NIC port in the order of the file; cables between switches by both ends.
  absl::Status ReadHosts() {
    nics_.resize(static_cast<std::size_t>(in_.gpus));
    double nvlink = 0;
    std::optional<double> nic_gbps;
    for (SimAiLink link : in_.links) {
      if (in_.is_gpu(link.target)) std::swap(link.source, link.target);
      if (in_.is_gpu(link.target)) {
        return Wrong(link.line, "links two GPUs", "link them through an NVSwitch");
      }
      if (in_.is_nv_switch(link.source) || in_.is_nv_switch(link.target)) {
        if (link.source == 0) nvlink += link.gbps;
        continue;
      }
      if (!in_.is_gpu(link.source)) {
        YM_RETURN_IF_ERROR(AddCable(link));
        continue;
      }
      if (nic_gbps.value_or(link.gbps) != link.gbps) {
        return Wrong(
            link.line,
            StrCat("a NIC port of ", link.gbps, " Gb/s among ports of ", *nic_gbps, " Gb/s"),
            "a Fabric has NIC ports of one speed");
      }
      nic_gbps = link.gbps;
      nics_[static_cast<std::size_t>(link.source)].push_back(link.target);
    }
    for (std::size_t gpu = 0; gpu < nics_.size(); ++gpu) {
      if (nics_[gpu].empty() || nics_[gpu].size() != nics_[0].size()) {
        return Wrong(
            0,
            StrCat("GPU ", gpu, " has ", Count(static_cast<int>(nics_[gpu].size()), "NIC port"),
                   ", GPU 0 has ", nics_[0].size()),
            "a Fabric has the same NIC for every GPU, with at least one port");
      }
    }
    YM_ASSIGN_OR_RETURN(spec().nic_gbps, Whole(*nic_gbps));
    spec().gpus_per_host = spec().rails = in_.gpus_per_server;
    spec().nic_ports = static_cast<int>(nics_[0].size());
    if (nvlink > 0) spec().nvlink_gbps = nvlink;
    return absl::OkStatus();
  }

  absl::Status AddCable(const SimAiLink& link) {
    for (auto [a, b] : {std::pair{link.source, link.target}, std::pair{link.target, link.source}}) {
      Bundle& bundle = ups_[a][b];
      if (bundle.cables++ > 0 && bundle.gbps != link.gbps) {
        return Wrong(link.line, "is parallel to a cable of another speed", "use one speed");
      }
      bundle.gbps = link.gbps;
    }
    return absl::OkStatus();
  }

  // Hosts with the same ToRs, port by port, are a segment.
  absl::Status FindSegments() {
    std::map<std::vector<int>, int> segments;
    std::map<int, int> segment_of_tor;
    const int rails = spec().rails;
    for (int host = 0; host < in_.gpus / rails; ++host) {
      std::vector<int> tors;  // rail by rail, port by port
      for (int rail = 0; rail < rails; ++rail) {
        const std::vector<int>& nic = nics_[static_cast<std::size_t>(host * rails + rail)];
        tors.insert(tors.end(), nic.begin(), nic.end());
      }
      const auto at = segments.emplace(tors, static_cast<int>(hosts_of_.size()));
      if (at.second) {
        for (int tor : tors) {
          if (segment_of_tor.emplace(tor, at.first->second).first->second == at.first->second)
            continue;
          return Wrong(0,
                       StrCat("server ", host, " shares ToR ", tor,
                              " with servers whose other ToRs "
                              "are different"),
                       "hosts of one segment have the same ToRs, port by port");
        }
        hosts_of_.push_back(0);
        tors_of_.push_back(tors);
      }
      ++hosts_of_[static_cast<std::size_t>(at.first->second)];
    }
    return absl::OkStatus();
  }

  absl::Status DescribeToRs() {
    const auto ports = static_cast<std::size_t>(spec().nic_ports);
    bool per_rail = true;
    bool shared = true;
    for (const std::vector<int>& tors : tors_of_) {
      const std::set<int> distinct(tors.begin(), tors.end());
      per_rail &= distinct.size() == tors.size();
      shared &= distinct.size() == ports;
      for (std::size_t i = 0; i < tors.size(); ++i) shared &= tors[i] == tors[i % ports];
    }
    if (!per_rail && !shared) {
      return Wrong(0, "ports of one server share ToRs in an irregular way",
                   "use a ToR for every rail and port, or one for each port number");
    }
    fabric::Tier tor;
    tor.role = "tor";
    tor.switches = static_cast<int>(ports);
    tor.per_rail = !shared;
    tor.down_gbps = spec().nic_gbps;
    spec().hosts_per_segment = *std::max_element(hosts_of_.begin(), hosts_of_.end());
    tor.down_ports = spec().hosts_per_segment * (tor.per_rail ? 1 : spec().rails);
    spec().tiers = {tor};
    spec().planes = 1;
    for (std::size_t s = 0; s < tors_of_.size(); ++s) {
      const std::vector<int>& tors = tors_of_[s];
      for (std::size_t i = 0; i < (shared ? ports : tors.size()); ++i) {
        lowers_.push_back({tors[i], static_cast<int>(s), shared ? -1 : static_cast<int>(i / ports),
                           static_cast<int>(i % ports), -1});
        seen_.insert(tors[i]);
      }
    }
    return absl::OkStatus();
  }

  // Finds what each lower switch meets above, and adds a tier with what is common to all.
  absl::Status AddTier(const char* role, fabric::Scope scope) {
    std::map<std::set<int>, int> groups;
    std::map<int, int> group_of_upper;
    std::optional<Bundle> common;
    fabric::Tier& below = spec().tiers.back();
    for (Lower& lower : lowers_) {
      std::set<int> uppers;
      for (const auto& [upper, bundle] : ups_[lower.id]) {
        if (below_.count(upper) != 0) continue;  // the way down
        if (seen_.count(upper) != 0) {
          return Wrong(0, StrCat("switches ", lower.id, " and ", upper, " of one tier are linked"),
                       "a Fabric has cables between neighbouring tiers only");
        }
        if (!common) common = bundle;
        if (common->cables != bundle.cables || common->gbps != bundle.gbps) {
          return Wrong(0,
                       StrCat("switches ", lower.id, " and ", upper, " have ", bundle.cables, " x ",
                              bundle.gbps, " Gb/s, others of their tier ", common->cables, " x ",
                              common->gbps, " Gb/s"),
                       "switches of one tier are cabled alike");
        }
        uppers.insert(upper);
      }
      const auto at = groups.emplace(uppers, static_cast<int>(groups.size())).first;
      lower.group = at->second;
      if (uppers.size() != groups.begin()->first.size() || uppers.empty()) {
        return Wrong(
            0,
            StrCat("switch ", lower.id, " is linked to ", uppers.size(),
                   " switches above it, another of its tier to ", groups.begin()->first.size()),
            "switches of one tier are cabled alike");
      }
      for (int upper : uppers) {
        if (group_of_upper.emplace(upper, lower.group).first->second == lower.group) continue;
        return Wrong(0,
                     StrCat("switch ", lower.id, " meets switch ", upper,
                            " and others that do "
                            "not meet the same switches below"),
                     "make groups of switches in which every pair is connected");
      }
    }
    fabric::Tier tier;
    tier.role = role;
    tier.scope = scope;
    YM_ASSIGN_OR_RETURN(tier.down_gbps, Whole(common->gbps));
    below.up_gbps = tier.down_gbps;
    tier.switches = static_cast<int>(groups.begin()->first.size());
    below.up_ports = tier.switches * common->cables;
    tier.per_rail = Separates(&Lower::rail);
    tier.per_plane = Separates(&Lower::plane);
    spec().tiers.push_back(tier);
    members_.assign(groups.size(), {});
    for (const auto& [uppers, group] : groups) {
      members_[static_cast<std::size_t>(group)].assign(uppers.begin(), uppers.end());
    }
    return absl::OkStatus();
  }

  // Whether lower switches that differ in `dimension` never share a group.
  bool Separates(int Lower::*dimension) const {
    std::map<int, std::set<int>> values;
    std::set<int> all;
    for (const Lower& lower : lowers_) {
      values[lower.group].insert(lower.*dimension);
      all.insert(lower.*dimension);
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
    std::vector<int> pod(tors_of_.size());
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
      groups[{above[static_cast<std::size_t>(lower.place)], tier.per_rail ? lower.rail : -1,
              spec_of().planes > 1 && tier.per_plane ? lower.plane : -1}]
          .insert(lower.group);
    }
    std::size_t sum = 0;
    for (const auto& [key, found] : groups) {
      sum += found.size();
      if (static_cast<int>(found.size()) == stripes) continue;
      return Wrong(0,
                   StrCat("the ", tier.role, " switches form ", found.size(),
                          " groups where others form ", stripes),
                   "cable every rail, plane and place alike");
    }
    if (sum != members_.size()) {
      return Wrong(0, StrCat("the ", tier.role, " switches are shared unevenly"),
                   "cable every rail, plane and place alike");
    }
    return absl::OkStatus();
  }
  const fabric::FabricSpec& spec_of() const { return out_.fabric.spec; }

  // The switches above become the lower ones.
  void Climb(const std::vector<int>& above, const std::map<int, int>& dense) {
    const fabric::Tier& tier = spec().tiers.back();
    std::vector<Lower> next;
    std::set<int> done;
    for (const Lower& lower : lowers_) {
      below_.insert(lower.id);
      if (!done.insert(lower.group).second) continue;
      for (int id : members_[static_cast<std::size_t>(lower.group)]) {
        next.push_back({id, dense.at(above[static_cast<std::size_t>(lower.place)]),
                        tier.per_rail ? lower.rail : -1, spec().planes > 1 ? lower.plane : 0, -1});
      }
    }
    lowers_ = std::move(next);
    seen_.clear();
    for (const Lower& lower : lowers_) seen_.insert(lower.id);
  }

  // Whether nothing stands above the lower switches.
  bool NextIsEmpty() {
    return std::all_of(lowers_.begin(), lowers_.end(), [this](const Lower& lower) {
      const auto& ends = ups_[lower.id];
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
    if (!NextIsEmpty()) return Wrong(0, "has more than 3 tiers of switches", "3 are read");
    return absl::OkStatus();
  }

  absl::StatusOr<ImportedFabric> Finish() {
    const std::size_t tiers = spec().tiers.size();
    if (segments_of_.empty()) segments_of_.assign(tors_of_.size(), 1);
    if (segments_of_.size() > 1 && tiers < 3) {
      return Wrong(0, StrCat(segments_of_.size(), " parts that no switch joins"),
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
    const int hosts = std::accumulate(hosts_of_.begin(), hosts_of_.end(), 0);
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
  ImportedFabric out_;
  std::vector<std::vector<int>> nics_;        // by GPU: the ToR of each port
  std::map<int, std::map<int, Bundle>> ups_;  // by switch: its neighbours, both ways
  std::vector<int> hosts_of_;                 // by segment
  std::vector<std::vector<int>> tors_of_;     // by segment, rail by rail, port by port
  std::vector<int> segments_of_;              // by fabric pod
  std::vector<Lower> lowers_;                 // the highest tier described so far
  std::vector<std::vector<int>> members_;     // by group of the tier above it
  std::set<int> seen_;                        // ids of lowers_
  std::set<int> below_;                       // ids of all tiers below it
};

}  // namespace

absl::StatusOr<ImportedFabric> ImportSimAi(const SimAiTopology& topology, const std::string& name) {
  return Importer(topology, name).Run();
}

}  // namespace yardmaster::cli
