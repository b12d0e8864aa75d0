#include "pkg/extender/steps/volume_step.h"

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/base/backoff.h"

namespace yardmaster::extender {

namespace {

// Claims that a pass reads, one after the other, and for how long; the next one has the others.
constexpr std::size_t kMaxInAPass = 64;
constexpr std::int64_t kMaxMsInAPass = 1'000;
constexpr std::size_t kMaxOfAGang = 16;  // while other gangs have claims that are due
constexpr int kMaxPassesLeftOut = 5;
constexpr std::size_t kMaxNamespaces = 1'000;  // whose last turn is remembered
constexpr BackoffLimits kAskAgain{250, 30'000};
constexpr std::int64_t kAskBoundAgainMs = 300'000;

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
std::set<NamespacedName> ClaimsOf(const gather::GatheredGang& pods) {
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
  began_ms_ = facts.now.steady_ms;
  std::int64_t wake_ms = std::numeric_limits<std::int64_t>::max();
  std::vector<DueClaims> all_due = FindDueClaims(facts, wake_ms);
  Share(all_due);
  std::vector<Work> works;
  if (!known_->empty()) {
    works.push_back({NamespacedName(), [this, wake_ms](const PassFacts&) {
                       return Decision{{Change(VolumesRead{known_}), WakeIn{wake_ms}}};
                     }});
  }
  for (const DueClaims& due : all_due) {
    works.push_back({due.gang, [this, due](const PassFacts& now) { return Read(now, due); }});
  }
  return works;
}

std::vector<VolumeStep::DueClaims> VolumeStep::FindDueClaims(const PassFacts& facts,
                                                             std::int64_t& wake_ms) {
  const std::int64_t now_ms = facts.now.steady_ms;
  std::vector<DueClaims> all_due;
  auto known = std::make_shared<VolumesByClaim>();
  std::map<NamespacedName, Answer> answers;
  std::map<NamespacedName, Waiting> waiting;
  for (const auto& [key, pods] : facts.gathered) {
    if (facts.FindGang(key) == nullptr || facts.IsLeftAlone(key)) continue;
    const std::set<NamespacedName> claims = ClaimsOf(*pods);
    if (claims.empty()) continue;
    Waiting& gang = waiting.emplace(key, std::move(waiting_[key])).first->second;
    const bool changed = std::exchange(gang.pods, pods) != pods;
    DueClaims due{key};
    std::int64_t next_ms = std::numeric_limits<std::int64_t>::max();
    std::vector<std::pair<std::int64_t, NamespacedName>> again;
    for (const NamespacedName& claim : claims) {
      const auto at = answers_.find(claim);
      if (at == answers_.end()) {
        due.claims.push_back(claim);
        continue;
      }
      known->insert(*known_->find(claim));
      Answer& answer = answers.insert(*at).first->second;
      if (changed && answer.volume.empty()) answer = {answer.uid, "", now_ms, 0};
      if (answer.next_ms <= now_ms) {
        again.emplace_back(answer.next_ms, claim);
      } else {
        next_ms = std::min(next_ms, answer.next_ms - now_ms);
      }
    }
    if (!MayLimit(*known, *pods)) continue;
    wake_ms = std::min(wake_ms, next_ms);
    due.unknown = due.claims.size();
    std::sort(again.begin(), again.end());
    for (auto& [due_ms, claim] : again) due.claims.push_back(std::move(claim));
    if (!due.claims.empty()) all_due.push_back(std::move(due));
  }
  known_ = std::move(known);
  answers_ = std::move(answers);
  waiting_ = std::move(waiting);
  if (served_.size() > kMaxNamespaces) served_.clear();
  return all_due;
}

void VolumeStep::Share(std::vector<DueClaims>& all_due) const {
  const auto served = [this](const DueClaims& due) {
    const auto at = served_.find(due.gang.namespace_name);
    return at == served_.end() ? 0 : at->second;
  };
  const auto in_namespace = [this](const DueClaims& due) {
    return std::tuple(due.unknown == 0, waiting_.at(due.gang).served, due.gang);
  };
  std::sort(all_due.begin(), all_due.end(), [&](const DueClaims& a, const DueClaims& b) {
    return in_namespace(a) < in_namespace(b);
  });
  std::map<std::string, std::size_t> turns;
  for (DueClaims& due : all_due) due.turn = turns[due.gang.namespace_name]++;
  const auto order = [&](const DueClaims& due) {
    return std::tuple(due.turn, due.unknown == 0, served(due), due.gang);
  };
  std::sort(all_due.begin(), all_due.end(),
            [&](const DueClaims& a, const DueClaims& b) { return order(a) < order(b); });
  std::size_t left = kMaxInAPass;
  for (const std::size_t most : {kMaxOfAGang, kMaxInAPass}) {
    for (DueClaims& due : all_due) {
      const std::size_t wanted = std::min(most, due.claims.size());
      const std::size_t more = std::min(left, wanted - std::min(wanted, due.share));
      due.share += more;
      left -= more;
    }
  }
}

Decision VolumeStep::Read(const PassFacts& facts, const DueClaims& due) {
  const bool has_time = facts.now.steady_ms - began_ms_ < kMaxMsInAPass;
  const std::size_t share = has_time ? due.share : 0;
  const Claims claims(due.claims.begin(), due.claims.begin() + static_cast<std::ptrdiff_t>(share));
  Decision read;
  read.threads = 1;  // none counts on another
  for (const NamespacedName& claim : claims) {
    read.effects.push_back(ReadObject{{ClaimsResource(), claim.namespace_name, claim.name, ""}});
  }
  Waiting& waiting = waiting_.at(due.gang);
  if (share < due.claims.size()) read.effects.push_back(WakeIn{0});
  if (share >= due.unknown) {
    waiting.left_out = 0;
  } else if (!facts.FindGang(due.gang)->status.committed() &&
             waiting.left_out < kMaxPassesLeftOut) {
    ++waiting.left_out;
    read.effects.push_back(Change(GangMarked{due.gang, GangMark::kLeftOut}));
  }
  if (claims.empty()) return read;
  waiting.served = served_[due.gang.namespace_name] = ++turns_;
  read.then = [this, claims](const PassFacts& now, const EffectOutcomes& outcomes) {
    return ReadVolumes(now, claims, outcomes);
  };
  return read;
}

Decision VolumeStep::ReadVolumes(const PassFacts& facts, const Claims& claims,
                                 const EffectOutcomes& read) {
  Decision decision;
  decision.threads = 1;
  Claims bound;
  std::vector<Effect> volumes;
  auto known = std::make_shared<VolumesByClaim>(*known_);
  for (std::size_t i = 0; i < claims.size(); ++i) {
    Answer& answer = answers_[claims[i]];
    VolumeReach& reach = (*known)[claims[i]];
    if (read[i].answered()) {
      const nlohmann::json& claim = read[i].object;
      std::string uid = UidOfClaim(claim), volume = VolumeOfClaim(claim);
      // Another claim of that name may have another volume.
      if (uid != answer.uid || volume != answer.volume) reach = VolumeReach{};
      answer.uid = std::move(uid);
      answer.volume = std::move(volume);
    }
    answer.wait_ms = NextDelayMs(answer.wait_ms, kAskAgain);
    const std::int64_t wait_ms = reach.bound ? kAskBoundAgainMs : answer.wait_ms;
    answer.next_ms = facts.now.steady_ms + wait_ms;
    decision.effects.push_back(WakeIn{wait_ms});
    if (answer.volume.empty() || reach.bound) continue;
    bound.push_back(claims[i]);
    volumes.push_back(ReadObject{{VolumesResource(), "", answer.volume, ""}});
  }
  known_ = std::move(known);
  decision.effects.push_back(Change(VolumesRead{known_}));
  if (bound.empty()) return decision;
  // First, so that outcomes and claims have the same order.
  decision.effects.insert(decision.effects.begin(), volumes.begin(), volumes.end());
  decision.then = [this, bound](const PassFacts& now, const EffectOutcomes& outcomes) {
    return StoreReach(now, bound, outcomes);
  };
  return decision;
}

Decision VolumeStep::StoreReach(const PassFacts& facts, const Claims& claims,
                                const EffectOutcomes& read) {
  auto known = std::make_shared<VolumesByClaim>(*known_);
  for (std::size_t i = 0; i < claims.size(); ++i) {
    if (!read[i].done()) continue;
    (*known)[claims[i]] = ReachOfVolume(read[i].object);
    answers_[claims[i]].wait_ms = 0;
    answers_[claims[i]].next_ms = facts.now.steady_ms + kAskBoundAgainMs;
  }
  known_ = std::move(known);
  return {{Change(VolumesRead{known_})}};
}

}  // namespace yardmaster::extender
