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
    return std::move(out_);
  }

  std::vector<std::string> RunDomains() {
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

  // What is wrong with one domain, as its last host's label has it.
  struct WrongDomain {
    fabric::DomainId domain;
    std::string text;
  };

  void BlameDomains() {
    std::vector<WrongDomain> parts, large, other;
    std::map<std::string_view, fabric::DomainId> first;
    std::map<int, int> domains_of_size;
    const int most = spec_.scale_up.hosts_per_domain;
    for (fabric::DomainId domain : places_.domains()) {
      const int size = places_.hosts_of(domain).size();
      if (IsNamed(domain)) ++domains_of_size[size];
      const auto [known, is_new] = first.emplace(places_.name(domain), domain);
      if (!is_new) {
        parts.push_back(
            {domain, StrCat("names domain ", places_.name(domain), ", which lies in segment ",
                            DistinctName(places_, places_.segment_of(known->second)),
                            ", too; the parts count as two domains")});
      }
      if (most == 0 || size <= most) continue;
      large.push_back({domain, StrCat("names domain ", places_.name(domain), ", which ",
                                      Count(size, "Node"), " name and which has room for ", most)});
    }
    const int usual = MostFrequent(domains_of_size);
    for (fabric::DomainId domain : places_.domains()) {
      const int size = places_.hosts_of(domain).size();
      if (most > 0 || !IsNamed(domain) || size == usual) continue;
      other.push_back({domain, StrCat("names domain ", places_.name(domain), " of ",
                                      Count(size, "host"), "; most domains have ", usual)});
    }
    const std::string field = StrCat("spec.scaleUp.hostsPerDomain of Fabric ", spec_.name);
    AddDomains(large, StrCat("correct the label, or ", field));
    AddDomains(parts, "correct the label");
    AddDomains(other, StrCat("correct the label, or state ", field));
  }

  // False: its only host has no label of a domain.
  bool IsNamed(fabric::DomainId domain) const {
    const auto hosts = places_.hosts_of(domain);
    return hosts.size() > 1 || places_.name(hosts[0]) != places_.name(domain);
  }

  // The size that most domains have, of several the largest.
  static int MostFrequent(const std::map<int, int>& domains_of_size) {
    int usual = 0, most = 0;
    for (const auto& [size, domains] : domains_of_size) {
      if (domains < most) continue;
      usual = size;
      most = domains;
    }
    return usual;
  }

  // One line: the first of them, and who the others are.
  void AddDomains(const std::vector<WrongDomain>& wrong, const std::string& advice) {
    if (wrong.empty()) return;
    constexpr std::size_t kNamed = 8;
    std::vector<std::string> others;
    for (std::size_t i = 1; i < wrong.size() && i <= kNamed; ++i) {
      others.push_back(StrCat(places_.name(wrong[i].domain), " (Node ",
                              places_.name(LastHostOf(wrong[i].domain)), ")"));
    }
    std::string text = StrCat(wrong[0].text, "; ", advice);
    if (!others.empty()) {
      text += StrCat("; likewise of ", Count(static_cast<std::int64_t>(wrong.size() - 1), "domain"),
                     " more: ", Join(others, ", "), wrong.size() > kNamed + 1 ? ", ..." : "");
    }
    out_.push_back(LabelLine(LastHostOf(wrong[0].domain), spec_.scale_up.label, text));
  }
  fabric::HostId LastHostOf(fabric::DomainId domain) const {
    const auto hosts = places_.hosts_of(domain);
    return hosts[hosts.size() - 1];
  }

  void Add(fabric::HostId host, const std::string& label, const std::string& problem,
           std::string_view field) {
    if (out_.size() == kMaxWarnings) return;
    out_.push_back(LabelLine(
        host, label,
        StrCat(problem, "; correct the label, or spec.size.", field, " of Fabric ", spec_.name)));
  }
  std::string LabelLine(fabric::HostId host, const std::string& label,
                        const std::string& text) const {
    return StrCat("Node ", places_.name(host), ": metadata.", api::JoinPath("labels", label), ": ",
                  text);
  }

  const fabric::Places& places_;
  const fabric::FabricSpec& spec_;
  std::vector<std::string> out_;
};

// The switch of the same place whose id is nearly `name`, or "".
std::string NearestSwitch(const fabric::Network& network, const std::string& name) {
  const std::string place = name.substr(0, name.rfind('/') + 1);
  std::vector<std::string> ids;
  for (int s = 0; s < network.num_switches(); ++s) {
    std::string id = network.name(fabric::SwitchId(s));
    if (id.substr(0, id.rfind('/') + 1) == place) ids.push_back(std::move(id));
  }
  return api::Nearest(name, ids);
}

}  // namespace

std::vector<std::string> PlaceContradictions(const fabric::Places& places,
                                             const fabric::FabricSpec& spec) {
  std::vector<std::string> out = Finder(places, spec).Run();
  for (std::string& line : Finder(places, spec).RunDomains()) out.push_back(std::move(line));
  return out;
}

std::vector<std::string> DomainContradictions(const fabric::Places& places,
                                              const fabric::FabricSpec& spec) {
  return Finder(places, spec).RunDomains();
}

std::vector<std::string> UnknownSwitches(const fabric::Network& network) {
  const fabric::FabricSpec& spec = network.spec();
  if (network.num_switches() == 0) return {};  // no host has a place yet
  std::map<std::string, std::string> left;     // the field, by the switch
  for (const auto& [own, shown] : spec.switch_names) {
    left[own] = api::JoinPath("spec.switchNames", own);
  }
  for (std::size_t i = 0; i < spec.absent_switches.size(); ++i) {
    left[spec.absent_switches[i]] = StrCat("spec.absentSwitches[", i, "]");
  }
  for (int s = 0; s < network.num_switches() && !left.empty(); ++s) {
    left.erase(network.name(fabric::SwitchId(s)));
  }
  std::vector<std::string> out;
  for (const auto& [own, field] : left) {
    if (out.size() == kMaxWarnings) {
      out.push_back(StrCat("Fabric ", spec.name, ": ", left.size() - kMaxWarnings,
                           " more entries of spec.switchNames and spec.absentSwitches name "
                           "switches that are not there"));
      break;
    }
    const std::string meant = NearestSwitch(network, own);
    out.push_back(StrCat("Fabric ", spec.name, ": ", field, ": there is no switch ", own, "; ",
                         meant.empty()
                             ? StrCat("use an id, for example ", network.name(fabric::SwitchId(0)),
                                      ", and label the Nodes below the switch")
                             : StrCat("did you mean ", meant, "?")));
  }
  return out;
}

}  // namespace yardmaster::state
