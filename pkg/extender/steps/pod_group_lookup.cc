#include "pkg/extender/steps/pod_group_lookup.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>
#include <string_view>

#include "nlohmann/json.hpp"

#include "pkg/api/gang.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/json/json_view.h"

namespace yardmaster::extender {

namespace {

constexpr char kSchedulingGroup[] = "scheduling.k8s.io";
// Newest first. Kubernetes 1.37 serves the first two, 1.36 the last.
constexpr std::string_view kPodGroupVersions[] = {"v1beta1", "v1alpha3", "v1alpha2"};
// The only one that has CompositePodGroups.
constexpr char kCompositeVersion[] = "v1alpha3";
constexpr std::size_t kMaxGroups = 32;

std::string PodGroupVersions() {
  return Join(std::vector<std::string>(std::begin(kPodGroupVersions), std::end(kPodGroupVersions)),
              ", ");
}

kube::Resource PodGroupResource(std::string_view version) {
  return {kSchedulingGroup, std::string(version), "podgroups", "PodGroup", true};
}

kube::Resource CompositeResource() {
  return {kSchedulingGroup, kCompositeVersion, "compositepodgroups", "CompositePodGroup", true};
}

// That the pods name; at most one more than are read.
std::vector<std::string> PodGroupsOf(const gather::GatheredGang& pods) {
  std::set<std::string> names;
  for (const auto* list : {&pods.members, &pods.strays}) {
    for (const gather::GangMember& member : *list) {
      if (!member.pod->pod_group.empty()) names.insert(member.pod->pod_group);
      if (names.size() > kMaxGroups) return {names.begin(), names.end()};
    }
  }
  return {names.begin(), names.end()};
}

std::optional<int> GangCountAt(JsonView object, std::string_view field) {
  const auto count = object.At({"spec", "schedulingPolicy", "gang", field}).WholeNumber();
  if (!count || *count < 1 || *count > api::kMaxListedRanks) return std::nullopt;
  return static_cast<int>(*count);
}

std::string ParentGroupOf(JsonView object) {
  return object.At({"spec", "parentCompositePodGroupName"}).Text();
}

// A 404 of an API that is not served does not name the object.
bool NamesObject(const absl::Status& status, std::string_view name) {
  return status.message().find(StrCat("\"", name, "\"")) != std::string_view::npos;
}

}  // namespace

void PodGroupLookup::Begin(const PassFacts& facts) {
  std::erase_if(said_, [&](const auto& entry) { return facts.gathered.count(entry.first) == 0; });
}

Decision PodGroupLookup::Ask(const PassFacts& facts, const NamespacedName& key, const Next& next) {
  auto reading = std::make_shared<Reading>();
  reading->names = PodGroupsOf(*facts.gathered.at(key));
  if (reading->names.empty()) {
    said_.erase(key);
    return next(facts, {});
  }
  reading->key = key;
  reading->next = next;
  if (reading->names.size() > kMaxGroups) {
    return Say(facts, *reading,
               {std::nullopt, StrCat("its pods name more than ", kMaxGroups, " PodGroups")});
  }
  Decision decision{{AwaitTurn{key, Question::kPodGroup}}};
  decision.then = [this, reading](const PassFacts& now, const EffectOutcomes& turn) {
    if (AllDone(turn)) return ReadGroups(reading);
    const auto at = said_.find(reading->key);
    return reading->next(now, at == said_.end() ? GroupSays() : at->second);
  };
  return decision;
}

Decision PodGroupLookup::ReadGroups(const std::shared_ptr<Reading>& reading) {
  constexpr std::size_t kCount = std::size(kPodGroupVersions);
  const std::string_view version = kPodGroupVersions[(version_ + reading->tried) % kCount];
  Decision decision;
  decision.threads = 1;  // none counts on another
  for (const std::string& name : reading->names) {
    decision.effects.push_back(
        ReadObject{{PodGroupResource(version), reading->key.namespace_name, name, ""}});
  }
  decision.then = [this, reading](const PassFacts& now, const EffectOutcomes& groups) {
    const bool none_there = std::all_of(groups.begin(), groups.end(), [](const EffectOutcome& o) {
      return absl::IsNotFound(o.status);
    });
    for (std::size_t i = 0; i < groups.size(); ++i) {
      reading->is_served |= NamesObject(groups[i].status, reading->names[i]);
    }
    if (none_there && ++reading->tried < kCount) return ReadGroups(reading);
    if (!none_there) version_ = (version_ + reading->tried) % kCount;
    return TakeGroups(now, reading, groups);
  };
  return decision;
}

// Why the group does not say its size; empty: it does.
std::string PodGroupLookup::WhyNot(const Reading& reading, std::size_t group,
                                   const EffectOutcome& read) {
  const std::string who =
      StrCat("PodGroup ", reading.key.namespace_name, "/", reading.names[group]);
  if (read.done()) {
    if (GangCountAt(read.object, "minCount")) return "";
    return StrCat(who, " has no spec.schedulingPolicy.gang.minCount");
  }
  if (!absl::IsNotFound(read.status)) {
    return StrCat(who, " cannot be read: ", MessageOf(read.status));
  }
  if (reading.is_served) return StrCat(who, " does not exist");
  return StrCat(who, " cannot be read: the API server serves podgroups.", kSchedulingGroup,
                " in none of the versions ", PodGroupVersions());
}

Decision PodGroupLookup::TakeGroups(const PassFacts& facts, const std::shared_ptr<Reading>& reading,
                                    const EffectOutcomes& groups) {
  std::int64_t size = 0;
  std::string parent;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (const std::string why = WhyNot(*reading, i, groups[i]); !why.empty()) {
      // What it said before holds until it says something else.
      const auto before = said_.find(reading->key);
      const bool holds = !groups[i].answered() && before != said_.end();
      return Say(facts, *reading, {holds ? before->second.size : std::nullopt, why});
    }
    size += GangCountAt(groups[i].object, "minCount").value_or(0);
    if (parent.empty()) parent = ParentGroupOf(groups[i].object);
  }
  if (size > api::kMaxListedRanks) {
    return Say(facts, *reading,
               {std::nullopt, StrCat("its PodGroups say that they have ", size, " pods")});
  }
  if (!parent.empty()) return ReadParent(reading, parent, static_cast<int>(size));
  return Say(facts, *reading, {static_cast<int>(size), ""});
}

Decision PodGroupLookup::ReadParent(const std::shared_ptr<Reading>& reading,
                                    const std::string& parent, int size) {
  Decision decision{{ReadObject{{CompositeResource(), reading->key.namespace_name, parent, ""}}}};
  decision.then = [this, reading, parent, size](const PassFacts& now, const EffectOutcomes& read) {
    const std::string who = StrCat("CompositePodGroup ", reading->key.namespace_name, "/", parent);
    const EffectOutcome& outcome = read.front();
    if (!outcome.done()) {
      return Say(now, *reading,
                 {std::nullopt, StrCat(who, " cannot be read: ", MessageOf(outcome.status))});
    }
    // Without a gang of groups, those that have pods are all that belong together.
    const int wanted = GangCountAt(outcome.object, "minGroupCount").value_or(1);
    const auto there = static_cast<int>(reading->names.size());
    if (there >= wanted) return Say(now, *reading, {size, ""});
    return Say(now, *reading,
               {std::nullopt, StrCat(who, " asks for ", Count(wanted, "PodGroup"), ", and pods of ",
                                     there, " are there")});
  };
  return decision;
}

Decision PodGroupLookup::Say(const PassFacts& facts, const Reading& reading,
                             const GroupSays& says) {
  said_[reading.key] = says;
  return reading.next(facts, says);
}

}  // namespace yardmaster::extender
