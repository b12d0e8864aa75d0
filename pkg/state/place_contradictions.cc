#include "pkg/state/place_contradictions.h"

#include <algorithm>
#include <map>

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
    if (places_.has_domains()) BlameDomains();
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

  // Domains in several segments, each part of which is a domain, and domains of too many hosts.
  void BlameDomains() {
    std::map<std::string_view, fabric::DomainId> first;
    for (fabric::DomainId domain : places_.domains()) {
      const auto hosts = places_.hosts_of(domain);
      const fabric::HostId last = hosts[hosts.size() - 1];
      const auto [known, is_new] = first.emplace(places_.name(domain), domain);
      if (!is_new) {
        const fabric::SegmentId segment = places_.segment_of(known->second);
        if (segment == places_.segment_of(domain)) continue;
        AddText(last, spec_.scale_up.label,
                StrCat("names domain ", places_.name(domain), ", which lies in segment ",
                       DistinctName(places_, segment),
                       ", too; the parts count as two domains; correct the label"));
      }
      const int most = spec_.scale_up.hosts_per_domain;
      if (most == 0 || hosts.size() <= most) continue;
      AddText(last, spec_.scale_up.label,
              StrCat("names domain ", places_.name(domain), ", which ", Count(hosts.size(), "Node"),
                     " name and which has room for ", most,
                     "; correct the label, or spec.scaleUp.hostsPerDomain of Fabric ", spec_.name));
    }
  }

  void Add(fabric::HostId host, const std::string& label, const std::string& problem,
           std::string_view field) {
    AddText(
        host, label,
        StrCat(problem, "; correct the label, or spec.size.", field, " of Fabric ", spec_.name));
  }
  void AddText(fabric::HostId host, const std::string& label, const std::string& text) {
    if (out_.size() == kMaxWarnings) return;
    out_.push_back(StrCat("Node ", places_.name(host), ": metadata.",
                          api::JoinPath("labels", label), ": ", text));
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
