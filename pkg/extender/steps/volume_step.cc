#include "pkg/extender/steps/volume_step.h"

#include <algorithm>
#include <set>
#include <utility>

#include "nlohmann/json.hpp"

namespace yardmaster::extender {

namespace {

// Claims that a pass reads, one after the other, of all gangs; the next one has the others.
constexpr std::size_t kMaxInAPass = 64;

const kube::Resource& ClaimsResource() {
  static const kube::Resource kClaims{"", "v1", "persistentvolumeclaims", "PersistentVolumeClaim",
                                      true};
  return kClaims;
}

const kube::Resource& VolumesResource() {
  static const kube::Resource kVolumes{"", "v1", "persistentvolumes", "PersistentVolume", false};
  return kVolumes;
}

// Of pods that wait for a place.
std::set<NamespacedName> ClaimsOf(const GatheredGang& pods) {
  std::set<NamespacedName> claims;
  for (std::size_t m = 0; pods.gated > 0 && m < pods.members.size(); ++m) {
    const api::Pod& pod = *pods.members[m].pod;
    if (!pod.gated()) continue;
    for (const std::string& claim : pod.volume_claims) {
      claims.insert({pod.metadata.namespace_name, claim});
    }
  }
  return claims;
}

}  // namespace

std::vector<Work> VolumeStep::Plan(const PassFacts& facts) {
  std::vector<Work> works;
  left_ = kMaxInAPass;
  auto known = std::make_shared<VolumesByClaim>();
  for (const auto& [key, pods] : facts.gathered) {
    if (facts.FindGang(key) == nullptr || facts.IsLeftAlone(key)) continue;
    Claims unknown, unbound;
    for (const NamespacedName& claim : ClaimsOf(*pods)) {
      const auto at = known_->find(claim);
      if (at == known_->end()) {
        unknown.push_back(claim);
        continue;
      }
      known->insert(*at);
      if (!at->second.bound) unbound.push_back(claim);
    }
    if (unknown.empty() && unbound.empty()) continue;
    works.push_back({key, [this, key = key, unknown, unbound](const PassFacts& now) {
                       return Read(now, key, unknown, unbound);
                     }});
  }
  known_ = std::move(known);
  if (!known_->empty()) {
    works.insert(works.begin(), {NamespacedName(), [this](const PassFacts&) {
                                   return Decision{{Change(VolumesRead{known_})}};
                                 }});
  }
  return works;
}

Decision VolumeStep::Read(const PassFacts& facts, const NamespacedName& gang, const Claims& unknown,
                          const Claims& unbound) {
  const bool is_placed = facts.FindGang(gang)->status.committed();
  Decision decision{{AwaitTurn{gang, Question::kVolumes}}};
  decision.then = [this, gang, unknown, unbound, is_placed](const PassFacts&,
                                                            const EffectOutcomes& turn) {
    Claims claims = unknown;
    claims.insert(claims.end(), unbound.begin(), unbound.end());
    claims.resize(turn.front().done() ? std::min(claims.size(), left_) : 0);
    left_ -= claims.size();
    Decision read;
    read.threads = 1;  // none counts on another
    for (const NamespacedName& claim : claims) {
      read.effects.push_back(ReadObject{{ClaimsResource(), claim.namespace_name, claim.name, ""}});
    }
    const bool waits = claims.size() < unknown.size() && !is_placed;
    if (waits) read.effects.push_back(Change(GangMarked{gang, GangMark::kLeftOut}));
    if (claims.empty()) return read;
    read.then = [this, claims](const PassFacts&, const EffectOutcomes& outcomes) {
      std::vector<std::string> volumes;
      for (std::size_t i = 0; i < claims.size(); ++i) {
        volumes.push_back(outcomes[i].done() ? VolumeOfClaim(outcomes[i].object) : "");
      }
      return ReadVolumes(claims, volumes);
    };
    return read;
  };
  return decision;
}

Decision VolumeStep::ReadVolumes(const Claims& claims, const std::vector<std::string>& volumes) {
  Decision decision;
  decision.threads = 1;
  Claims bound;
  auto known = std::make_shared<VolumesByClaim>(*known_);
  for (std::size_t i = 0; i < claims.size(); ++i) {
    known->insert({claims[i], VolumeReach{}});
    if (volumes[i].empty()) continue;
    bound.push_back(claims[i]);
    decision.effects.push_back(ReadObject{{VolumesResource(), "", volumes[i], ""}});
  }
  known_ = std::move(known);
  if (bound.empty()) return Decision{{Change(VolumesRead{known_})}};
  decision.then = [this, bound](const PassFacts&, const EffectOutcomes& outcomes) {
    return Learn(bound, outcomes);
  };
  return decision;
}

Decision VolumeStep::Learn(const Claims& claims, const EffectOutcomes& read) {
  auto known = std::make_shared<VolumesByClaim>(*known_);
  for (std::size_t i = 0; i < claims.size(); ++i) {
    if (read[i].done()) (*known)[claims[i]] = ReachOfVolume(read[i].object);
  }
  known_ = std::move(known);
  return {{Change(VolumesRead{known_})}};
}

}  // namespace yardmaster::extender
