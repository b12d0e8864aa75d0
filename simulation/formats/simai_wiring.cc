#include "simulation/formats/simai_wiring.h"

#include <cmath>
#include <optional>
#include <utility>

#include "pkg/base/status.h"
#include "pkg/base/strings.h"

namespace yardmaster::sim {

namespace {

class WiringReader {
 public:
  WiringReader(const SimAiTopology& topology, const std::string& name)
      : in_(topology), name_(name) {}

  absl::StatusOr<SimAiWiring> Run() {
    YM_RETURN_IF_ERROR(ReadHosts());
    YM_RETURN_IF_ERROR(FindSegments());
    return std::move(out_);
  }

 private:
  absl::Status Wrong(int line, const std::string& problem, const std::string& fix) const {
    return WrongSimAi(name_, line, problem, fix);
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
    YM_ASSIGN_OR_RETURN(out_.nic_gbps, WholeGbps(*nic_gbps, name_));
    out_.nic_ports = static_cast<int>(nics_[0].size());
    out_.nvlink_gbps = nvlink;
    return absl::OkStatus();
  }

  absl::Status AddCable(const SimAiLink& link) {
    for (auto [a, b] : {std::pair{link.source, link.target}, std::pair{link.target, link.source}}) {
      Bundle& bundle = out_.ups[a][b];
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
    const int rails = in_.gpus_per_server;
    for (int host = 0; host < in_.gpus / rails; ++host) {
      std::vector<int> tors;  // rail by rail, port by port
      for (int rail = 0; rail < rails; ++rail) {
        const std::vector<int>& nic = nics_[static_cast<std::size_t>(host * rails + rail)];
        tors.insert(tors.end(), nic.begin(), nic.end());
      }
      const auto at = segments.emplace(tors, static_cast<int>(out_.hosts_of.size()));
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
        out_.hosts_of.push_back(0);
        out_.tors_of.push_back(tors);
      }
      ++out_.hosts_of[static_cast<std::size_t>(at.first->second)];
    }
    return absl::OkStatus();
  }

  const SimAiTopology& in_;
  const std::string& name_;
  SimAiWiring out_;
  std::vector<std::vector<int>> nics_;  // by GPU: the ToR of each port
};

}  // namespace

absl::StatusOr<SimAiWiring> ReadSimAiWiring(const SimAiTopology& topology,
                                            const std::string& name) {
  return WiringReader(topology, name).Run();
}

absl::StatusOr<int> WholeGbps(double gbps, const std::string& name) {
  if (gbps != std::floor(gbps) || gbps > 1'000'000) {
    return WrongSimAi(name, 0, StrCat(gbps, " Gb/s is not a whole number"), "give whole Gb/s");
  }
  return static_cast<int>(gbps);
}

absl::Status WrongSimAi(const std::string& name, int line, const std::string& problem,
                        const std::string& fix) {
  return FieldError(line > 0 ? StrCat(name, ":", line) : name, problem, fix);
}

}  // namespace yardmaster::sim
