#include "pkg/state/place_contradictions.h"

#include <algorithm>

#include "pkg/api/field_reader.h"
#include "pkg/base/strings.h"

namespace yardmaster::state {

namespace {

// More of them say nothing new.
constexpr std::size_t kMaxWarnings = 8;

class Finder {
 public:
  Finder(const fabric::Places& places, const fabric::FabricSpec& spec)
      : places_(places), spec_(spec) {}

  std::vector<std::string> Run() {
    Blame(places_.fabric_pods(), spec_.fabric_pods, spec_.fabric_pod_label, "fabric pod", "",
          "fabricPods");
    for (fabric::FabricPodId pod : places_.fabric_pods()) {
      Blame(places_.segments_of(pod), spec_.segments_per_fabric_pod, spec_.segment_label, "segment",
            StrCat(" in fabric pod ", places_.name(pod)), "segmentsPerFabricPod");
    }
    for (fabric::SegmentId segment : places_.segments()) {
      const auto hosts = places_.hosts_of(segment);
      const int nodes = places_.num_nodes_of(segment);
      if (nodes <= spec_.hosts_per_segment) continue;
      Add(hosts[hosts.size() - 1], spec_.segment_label,
          StrCat("names segment ", places_.name(segment), ", which ", Count(nodes, "Node"),
                 " name and which has room for ", spec_.hosts_per_segment),
          "hostsPerSegment");
    }
    return std::move(out_);
  }

 private:
  template <typename Id>
  void Blame(fabric::IdRange<Id> all, int most, const std::string& label, std::string_view what,
             const std::string& where, std::string_view field) {
    const int count = all.size();
    if (count <= most) return;
    std::vector<Id> named;
    for (Id id : all) named.push_back(id);
    std::stable_sort(named.begin(), named.end(), [&](Id a, Id b) {
      const int a_hosts = places_.hosts_of(a).size(), b_hosts = places_.hosts_of(b).size();
      return a_hosts != b_hosts ? a_hosts < b_hosts : b < a;
    });
    named.resize(static_cast<std::size_t>(count - most));
    for (Id id : named) {
      Add(places_.hosts_of(id)[0], label,
          StrCat("names ", what, " ", places_.name(id), where, ", one of ", count,
                 " that Nodes name and there are ", most),
          field);
    }
  }

  void Add(fabric::HostId host, const std::string& label, const std::string& problem,
           std::string_view field) {
    if (out_.size() == kMaxWarnings) return;
    out_.push_back(StrCat("Node ", places_.name(host), ": metadata.",
                          api::JoinPath("labels", label), ": ", problem,
                          "; correct the label, or spec.size.", field, " of Fabric ", spec_.name));
  }

  const fabric::Places& places_;
  const fabric::FabricSpec& spec_;
  std::vector<std::string> out_;
};

}  // namespace

std::vector<std::string> PlaceContradictions(const fabric::Places& places,
                                             const fabric::FabricSpec& spec) {
  return Finder(places, spec).Run();
}

}  // namespace yardmaster::state
