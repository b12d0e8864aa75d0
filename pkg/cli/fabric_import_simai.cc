#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/cli/fabric_import.h"

namespace yardmaster::cli {

namespace {

// Cables of one lower switch to one upper one.
struct Bundle {
  int cables = 0;
  double gbps = 0;
  int line = 0;
};

class Importer {
 public:
  Importer(const SimAiTopology& topology, const std::string& name)
      : in_(topology), name_(name), tier_of_(static_cast<std::size_t>(topology.nodes()), -1) {}

  absl::StatusOr<ImportedFabric> Run() {
    if (in_.switches == 0) {
      return Wrong(0, "has no switches but NVSwitches", "there is no network to describe");
    }
    out_.fabric.metadata.name = "simai";
    spec().name = "simai";
    YM_RETURN_IF_ERROR(ReadHosts());
    YM_RETURN_IF_ERROR(FindTiers());
    YM_RETURN_IF_ERROR(DescribeSegments());
    YM_RETURN_IF_ERROR(DescribePlanes());
    for (std::size_t t = 1; t < tiers_.size(); ++t) YM_RETURN_IF_ERROR(DescribeUpper(t));
    YM_RETURN_IF_ERROR(DescribeSize());
    return Finish();
  }

 private:
  fabric::FabricSpec& spec() { return out_.fabric.spec; }

  absl::Status Wrong(int line, const std::string& problem, const std::string& fix) const {
    return FieldError(line > 0 ? StrCat(name_, ":", line) : name_, problem, fix);
  }

  absl::StatusOr<int> Whole(double gbps, int line) const {
    if (gbps != std::floor(gbps) || gbps > 1'000'000) {
      return Wrong(line, StrCat(gbps, " Gb/s is no whole number"), "give whole Gb/s");
    }
    return static_cast<int>(gbps);
  }

  // NIC ports of every GPU in the order of the file; cables between switches by their ends.
  absl::Status ReadHosts() {
    nics_.resize(static_cast<std::size_t>(in_.gpus));
    std::vector<double> nvlink(nics_.size());
    std::optional<double> nic_gbps;
    for (SimAiLink link : in_.links) {
      if (in_.is_gpu(link.target)) std::swap(link.source, link.target);
      if (in_.is_gpu(link.target)) {
        return Wrong(link.line, "links two GPUs", "link them through an NVSwitch");
      }
      if (in_.is_nv_switch(link.source) || in_.is_nv_switch(link.target)) {
        if (in_.is_gpu(link.source)) nvlink[static_cast<std::size_t>(link.source)] += link.gbps;
        continue;
      }
      if (!in_.is_gpu(link.source)) {
        between_.push_back(link);
        continue;
      }
      if (nic_gbps && *nic_gbps != link.gbps) {
        return Wrong(link.line, StrCat("a NIC port of ", link.gbps, " Gb/s among ports of ",
                                       *nic_gbps, " Gb/s"),
                     "a Fabric has NIC ports of one speed");
      }
      nic_gbps = link.gbps;
      nics_[static_cast<std::size_t>(link.source)].push_back(link.target);
      tier_of_[static_cast<std::size_t>(link.target)] = 0;
    }
    for (std::size_t gpu = 0; gpu < nics_.size(); ++gpu) {
      if (nics_[gpu].empty() || nics_[gpu].size() != nics_[0].size()) {
        return Wrong(0, StrCat("GPU ", gpu, " has ", nics_[gpu].size(), " NIC ports, GPU 0 has ",
                               nics_[0].size()),
                     "a Fabric has the same NIC for every GPU, with at least one port");
      }
    }
    YM_ASSIGN_OR_RETURN(spec().nic_gbps, Whole(*nic_gbps, 0));
    spec().gpus_per_host = spec().rails = in_.gpus_per_server;
    spec().nic_ports = static_cast<int>(nics_[0].size());
    spec().nvlink_gbps = nvlink[0];
    return absl::OkStatus();
  }

  // Breadth first from the ToRs; cables are sorted into bundles by (tier below, lower, upper).
  absl::Status FindTiers() {
    tiers_.emplace_back();
    for (int id = in_.gpus + in_.nv_switches; id < in_.nodes(); ++id) {
      if (tier_of_[static_cast<std::size_t>(id)] == 0) tiers_[0].push_back(id);
    }
    std::vector<SimAiLink> left = between_;
    for (int tier = 0; !left.empty(); ++tier) {
      std::vector<SimAiLink> rest;
      std::set<int> above;
      for (SimAiLink link : left) {
        if (TierOf(link.target) == tier) std::swap(link.source, link.target);
        if (TierOf(link.source) != tier) {
          rest.push_back(link);
          continue;
        }
        if (TierOf(link.target) >= 0 && TierOf(link.target) <= tier) {
          return Wrong(link.line, StrCat("links switches ", link.source, " and ", link.target,
                                         ", which are both in tier ", tier),
                       "a Fabric has cables between neighbouring tiers only");
        }
        above.insert(link.target);
        Bundle& bundle = bundles_[{link.source, link.target}];
        bundle.line = link.line;
        if (bundle.cables++ > 0 && bundle.gbps != link.gbps) {
          return Wrong(link.line, "is parallel to a cable of another speed", "use one speed");
        }
        bundle.gbps = link.gbps;
      }
      if (above.empty()) {
        return Wrong(rest[0].line, StrCat("switch ", rest[0].source, " leads to no GPU"),
                     "remove it or link it to a ToR");
      }
      for (int id : above) tier_of_[static_cast<std::size_t>(id)] = tier + 1;
      tiers_.emplace_back(above.begin(), above.end());
      left = std::move(rest);
    }
    for (int id = in_.gpus + in_.nv_switches; id < in_.nodes(); ++id) {
      if (TierOf(id) < 0) {
        return Wrong(0, StrCat("switch ", id, " has no cable"), "remove it or link it");
      }
    }
    if (tiers_.size() > 3) {
      return Wrong(0, StrCat(tiers_.size(), " tiers of switches"), "at most 3 are read");
    }
    return absl::OkStatus();
  }

  int TierOf(int id) const { return tier_of_[static_cast<std::size_t>(id)]; }

  // Hosts that share ToRs are a segment; host h's port p of rail r is at tors_of_[segment][r][p].
  absl::Status DescribeSegments() {
    const int per_host = in_.gpus_per_server;
    std::map<std::vector<int>, int> segments;  // the ToRs of a host, in order -> segment
    std::map<int, int> segment_of_tor;
    for (int host = 0; host < in_.gpus / per_host; ++host) {
      std::vector<int> tors;
      for (int rail = 0; rail < per_host; ++rail) {
        const std::vector<int>& nic = nics_[static_cast<std::size_t>(host * per_host + rail)];
        tors.insert(tors.end(), nic.begin(), nic.end());
      }
      const auto [at, fresh] = segments.emplace(tors, static_cast<int>(hosts_of_segment_.size()));
      if (fresh) {
        hosts_of_segment_.push_back(0);
        for (int tor : tors) {
          const auto other = segment_of_tor.emplace(tor, at->second).first;
          if (other->second != at->second) {
            return Wrong(0, StrCat("server ", host, " shares ToR ", tor, " but not all of its ToRs ",
                                   "with other servers"),
                         "hosts of one segment have the same ToRs, port by port");
          }
        }
        tors_of_segment_.push_back(tors);
      }
      ++hosts_of_segment_[static_cast<std::size_t>(at->second)];
    }
    return DescribeToRs();
  }

  absl::Status DescribeToRs() {
    const int ports = spec().nic_ports;
    const int rails = spec().rails;
    bool per_rail = true;
    bool one_rail = true;  // all rails of a port on one switch
    for (const std::vector<int>& tors : tors_of_segment_) {
      const std::set<int> distinct(tors.begin(), tors.end());
      per_rail &= distinct.size() == tors.size();
      one_rail &= static_cast<int>(distinct.size()) == ports;
      for (int p = 0; p < ports; ++p) {
        for (int r = 1; r < rails && one_rail; ++r) {
          one_rail = tors[static_cast<std::size_t>(r * ports + p)] ==
                     tors[static_cast<std::size_t>(p)];
        }
      }
    }
    if (!per_rail && !one_rail) {
      return Wrong(0, "ports of one server share ToRs in an irregular way",
                   "use one ToR for every rail and port, or one for each port number");
    }
    fabric::Tier tor;
    tor.role = "tor";
    tor.scope = fabric::Scope::kSegment;
    tor.per_rail = per_rail && rails > 1;
    tor.down_gbps = spec().nic_gbps;
    const int hosts = *std::max_element(hosts_of_segment_.begin(), hosts_of_segment_.end());
    tor.down_ports = hosts * (tor.per_rail ? 1 : rails);
    spec().tiers = {tor};
    spec().hosts_per_segment = hosts;
    return absl::OkStatus();
  }

  // Ports whose ToRs meet no common switch above are planes of their own.
  absl::Status DescribePlanes() {
    const int ports = spec().nic_ports;
    std::vector<std::set<int>> above(static_cast<std::size_t>(ports));
    for (const std::vector<int>& tors : tors_of_segment_) {
      for (std::size_t i = 0; i < tors.size(); ++i) {
        for (const auto& [ends, bundle] : bundles_) {
          (void)bundle;
          if (ends.first == tors[i]) above[i % static_cast<std::size_t>(ports)].insert(ends.second);
        }
        if (in_.gpus > 0 && bundles_.empty()) break;
      }
    }
    int shared = 0;
    int pairs = 0;
    for (int a = 0; a < ports; ++a) {
      for (int b = a + 1; b < ports; ++b) {
        ++pairs;
        const auto& x = above[static_cast<std::size_t>(a)];
        const auto& y = above[static_cast<std::size_t>(b)];
        shared += std::any_of(x.begin(), x.end(), [&y](int id) { return y.count(id) != 0; }) ? 1 : 0;
      }
    }
    if (shared != 0 && shared != pairs) {
      return Wrong(0, "some NIC ports meet above the ToRs and some do not",
                   "make all ports planes of their own, or none");
    }
    const bool planes = ports > 1 && shared == 0;
    spec().planes = planes ? ports : 1;
    spec().tiers[0].switches = ports / spec().planes;
    spec().tiers[0].per_plane = true;
    return absl::OkStatus();
  }

  ImportedFabric Finish();
  absl::Status DescribeUpper(std::size_t tier);
  absl::Status DescribeSize();

  const SimAiTopology& in_;
  const std::string& name_;
  ImportedFabric out_;
  std::vector<std::vector<int>> nics_;  // by GPU: the ToR of each port
  std::vector<SimAiLink> between_;      // cables between switches
  std::vector<int> tier_of_;            // by node
  std::vector<std::vector<int>> tiers_;
  std::map<std::pair<int, int>, Bundle> bundles_;  // (lower, upper)
  std::vector<int> hosts_of_segment_;
  std::vector<std::vector<int>> tors_of_segment_;  // rail by rail, port by port
};

}  // namespace

}  // namespace yardmaster::cli
