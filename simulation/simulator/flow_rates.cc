#include "simulation/simulator/flow_rates.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "pkg/base/strings.h"

namespace yardmaster::sim {
namespace {

// Rates this close are one rate.
constexpr double kSameRate = 1e-12;
constexpr double kRelativeError = 1e-9;

double ToBytesPerSecond(double gbps) { return gbps * 1e9 / 8; }

}  // namespace

FlowRates::FlowRates(const std::vector<double>& link_gbps)
    : active_on_(link_gbps.size()),
      reached_on_(link_gbps.size()),
      share_(link_gbps.size()),
      link_mark_(link_gbps.size(), 0) {
  for (const double gbps : link_gbps) capacity_.push_back(ToBytesPerSecond(gbps));
}

FlowId FlowRates::Add(MovingFlow flow) {
  tags_.push_back({0, flow.level});
  flows_.push_back(std::move(flow));
  return FlowId(static_cast<std::int32_t>(flows_.size()) - 1);
}

double FlowRates::Delivered(FlowId id, double now) const {
  const MovingFlow& flow = flows_[id.index()];
  const double moving = std::min(flow.remaining, flow.rate * (now - flow.updated));
  return flow.delivered + (flow.active ? moving : 0);
}

void FlowRates::Start(FlowId id, double bytes, double now) {
  MovingFlow& flow = at(id);
  flow.active = true;
  flow.remaining = bytes;
  flow.rate = 0;
  flow.updated = now;
  for (std::size_t i = 0; i < flow.links.size(); ++i) {
    const std::int32_t link = flow.links[i];
    active_on_[link].push_back({id, flow.uses.empty() ? 1 : flow.uses[i]});
    reached_on_[link] = {};
  }
  Reach(flow.links, flow.level);
}

void FlowRates::Finish(FlowId id, double now) {
  MovingFlow& flow = at(id);
  flow.delivered += flow.remaining;
  flow.remaining = 0;
  flow.updated = now;
  flow.active = false;
  flow.rate = 0;
  ++flow.version;
  for (const std::int32_t link : flow.links) {
    auto& on = active_on_[link];
    on.erase(std::find_if(on.begin(), on.end(), [id](const Active& a) { return a.id == id; }));
  }
  Reach(flow.links, flow.level);
}

void FlowRates::UpdateRates(MovingFlow& flow, double now) {
  const double moved = std::min(flow.remaining, flow.rate * (now - flow.updated));
  flow.remaining -= moved;
  flow.delivered += moved;
  flow.updated = now;
}

void FlowRates::SetRate(FlowId id, double rate, double now) {
  MovingFlow& flow = at(id);
  if (std::abs(rate - flow.rate) <= kSameRate * flow.rate) return;
  UpdateRates(flow, now);
  flow.rate = rate;
  ++flow.version;
  if (rate > 0) other_rate_.push_back(id);
}

void FlowRates::Reach(std::span<const std::int32_t> links, std::int32_t level) {
  const auto visit = [&](std::span<const std::int32_t> path, std::int32_t at_most) {
    for (const std::int32_t link : path) {
      Reached& before = reached_on_[link];
      if (before.mark == mark_ && before.level >= at_most) continue;
      before = {mark_, at_most};
      for (const auto& [id, use] : active_on_[link]) {
        Tag& tag = tags_[id.index()];
        if (tag.level > at_most || tag.mark == mark_) continue;
        tag.mark = mark_;
        reached_.push_back(id);
      }
    }
  };
  std::size_t next = reached_.size();
  visit(links, level);
  for (; next < reached_.size(); ++next) {
    const MovingFlow& flow = at(reached_[next]);
    visit(flow.links, flow.level);
  }
}

void FlowRates::OfferCapacity() {
  for (const FlowId id : dividing_) {
    for (const std::int32_t link : at(id).links) {
      if (link_mark_[link] == mark_) continue;
      link_mark_[link] = mark_;
      double left = capacity_[link];
      for (const auto& [other, use] : active_on_[link]) {
        if (tags_[other.index()].mark != mark_) left -= flows_[other.index()].rate * use;
      }
      share_.SetCapacity(link, std::max(0.0, left));
    }
  }
}

const std::vector<FlowId>& FlowRates::Divide(double now) {
  other_rate_.clear();
  if (reached_.empty()) return other_rate_;
  dividing_.clear();
  shares_.clear();
  for (const FlowId id : reached_) {
    const MovingFlow& flow = at(id);
    if (!flow.active) continue;
    dividing_.push_back(id);
    shares_.push_back({flow.links, flow.level, 0, flow.uses});
  }
  OfferCapacity();
  share_.Divide(shares_);
  for (std::size_t i = 0; i < dividing_.size(); ++i) SetRate(dividing_[i], shares_[i].rate, now);
  reached_.clear();
  ++mark_;
  return other_rate_;
}

absl::Status FlowRates::CheckRates() const {
  for (std::size_t link = 0; link < capacity_.size(); ++link) {
    double sum = 0;
    for (const auto& [id, use] : active_on_[link]) sum += flow(id).rate * use;
    if (sum > capacity_[link] * (1 + kRelativeError)) {
      return absl::InternalError(StrCat("link ", link, " carries ", sum, " of ", capacity_[link]));
    }
  }
  for (std::size_t f = 0; f < flows_.size(); ++f) {
    if (!flows_[f].active) continue;
    YM_RETURN_IF_ERROR(CheckBottleneck(FlowId(static_cast<std::int32_t>(f))));
  }
  return absl::OkStatus();
}

// A bottleneck: full with its own and higher levels, and no flow of its level gets more there.
absl::Status FlowRates::CheckBottleneck(FlowId id) const {
  const MovingFlow& mine = flow(id);
  const auto stops_it = [&](std::int32_t link) {
    double at_least = 0;
    double most = 0;
    for (const auto& [other, use] : active_on_[link]) {
      const MovingFlow& theirs = flow(other);
      if (theirs.level < mine.level) continue;
      at_least += theirs.rate * use;
      if (theirs.level == mine.level) most = std::max(most, theirs.rate);
    }
    return at_least >= capacity_[link] * (1 - kRelativeError) &&
           mine.rate >= most * (1 - kRelativeError);
  };
  if (std::any_of(mine.links.begin(), mine.links.end(), stops_it)) return absl::OkStatus();
  return absl::InternalError(StrCat("flow ", id.value, " could have more than ", mine.rate));
}

}  // namespace yardmaster::sim
