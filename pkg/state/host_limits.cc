#include "pkg/state/host_limits.h"

#include <algorithm>
#include <utility>

namespace yardmaster::state {

using fabric::HostId;

std::shared_ptr<const HostLimit> HostLimits::Of(const api::NodeConstraints& constraints) {
  Kept& kept = limits_[constraints];
  if (kept.limit == nullptr) {
    kept.limit = std::make_shared<HostLimit>();
    came_or_went_ = true;
  }
  return kept.limit;
}

void HostLimits::Update(const HostIndex& hosts, const HostChanges& changes) {
  came_or_went_ |= std::erase_if(limits_, [](const auto& entry) {
                     return entry.second.limit.use_count() == 1;
                   }) > 0;
  const auto count = hosts.states().size();
  std::vector<HostId> changed = changes.hosts;
  if (changes.renumbered && !changes.all) Move(changes.moved_to, count);
  if (changes.all) {
    for (auto* by_host : {&tainted_, &fenced_, &repelled_}) by_host->assign(count, 0);
    for (HostId host : hosts.places()->hosts()) changed.push_back(host);
  } else if (came_or_went_) {
    for (HostId host : hosts.places()->hosts()) {
      if (repelled_[host.index()] != 0) changed.push_back(host);
    }
  }
  came_or_went_ = false;
  for (HostId host : changed) ReadTaints(hosts, host);
  for (auto& [constraints, kept] : limits_) {
    if (changes.all || kept.fresh) {
      kept.bits.assign(count, 1);
      kept.closed = 0;
      kept.fresh = false;
      kept.differs = true;
      for (HostId host : hosts.places()->hosts()) CheckHost(hosts, host, constraints, kept);
    } else {
      for (HostId host : changed) CheckHost(hosts, host, constraints, kept);
    }
    if (!kept.differs) continue;
    kept.differs = false;
    kept.limit->eligible =
        kept.closed == 0 ? nullptr : std::make_shared<const std::vector<std::uint8_t>>(kept.bits);
  }
}

// A host that is new has no Node, which no taint and no template speaks against, or one that is
// checked after this.
void HostLimits::Move(const std::vector<HostId>& to, std::size_t count) {
  const auto move = [&](std::vector<std::uint8_t>& by_host, std::uint8_t of_new) {
    std::vector<std::uint8_t> moved(count, of_new);
    for (std::size_t h = 0; h < to.size(); ++h) {
      if (to[h].valid()) moved[to[h].index()] = by_host[h];
    }
    by_host = std::move(moved);
  };
  for (auto* by_host : {&tainted_, &fenced_, &repelled_}) move(*by_host, 0);
  for (auto& [constraints, kept] : limits_) {
    if (kept.fresh) continue;
    move(kept.bits, 1);
    kept.closed = std::count(kept.bits.begin(), kept.bits.end(), 0);
    kept.differs = true;
  }
}

void HostLimits::ReadTaints(const HostIndex& hosts, HostId host) {
  const api::Node* node = hosts.node(host);
  const bool repelled = node != nullptr && IsRepelled(*node, {});
  const bool tolerated =
      repelled && std::any_of(limits_.begin(), limits_.end(), [&](const auto& limit) {
        return !IsRepelled(*node, limit.first.tolerations);
      });
  repelled_[host.index()] = repelled ? 1 : 0;
  fenced_[host.index()] = tolerated ? 1 : 0;
  const bool tainted = node != nullptr && (IsUnhealthy(*node) || (repelled && !tolerated));
  tainted_[host.index()] = tainted ? 1 : 0;
}

void HostLimits::CheckHost(const HostIndex& hosts, HostId host,
                           const api::NodeConstraints& constraints, Kept& kept) const {
  const api::Node* node = hosts.node(host);
  bool open = true;
  if (node != nullptr) {
    open = api::Selects(constraints, *node) &&
           !(fenced_[host.index()] != 0 && IsRepelled(*node, constraints.tolerations));
  }
  std::uint8_t& bit = kept.bits[host.index()];
  if (open == (bit != 0)) return;
  bit = open ? 1 : 0;
  kept.closed += open ? -1 : 1;
  kept.differs = true;
}

}  // namespace yardmaster::state
