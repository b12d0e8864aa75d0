#include "simulation/simulator/fair_share.h"

#include <algorithm>
#include <numeric>
#include <queue>
#include <utility>

namespace yardmaster::sim {
namespace {

// Less use than this of a link is what rounding left of nothing.
constexpr double kNoUse = 1e-9;

// What of the flow's rate its i-th link carries.
double UseOf(const ShareFlow& flow, std::size_t i) { return flow.uses.empty() ? 1 : flow.uses[i]; }

}  // namespace

FairShare::FairShare(std::size_t link_count)
    : left_(link_count, 0), use_(link_count, 0), users_(link_count) {}

void FairShare::Freeze(ShareFlow& flow, double share) {
  flow.rate = share;
  for (std::size_t i = 0; i < flow.links.size(); ++i) {
    const std::int32_t link = flow.links[i];
    left_[link] = std::max(0.0, left_[link] - flow.rate * UseOf(flow, i));
    use_[link] -= UseOf(flow, i);
  }
}

void FairShare::DivideLevel(std::vector<ShareFlow>& flows, std::span<const std::int32_t> members) {
  std::vector<std::int32_t> links;
  for (const std::int32_t m : members) {
    flows[m].rate = -1;
    for (std::size_t i = 0; i < flows[m].links.size(); ++i) {
      const std::int32_t link = flows[m].links[i];
      if (users_[link].empty()) {
        links.push_back(link);
        use_[link] = 0;
      }
      users_[link].push_back(m);
      use_[link] += UseOf(flows[m], i);
    }
  }
  std::vector<Entry> entries;
  entries.reserve(links.size());
  for (const std::int32_t link : links) {
    if (use_[link] <= kNoUse) continue;
    const Entry entry{left_[link] / use_[link], link};
    if (users_[link].size() > 1) {
      entries.push_back(entry);
      continue;
    }
    // Of the links that a flow has for itself only the smallest can freeze it.
    Entry& own = own_[users_[link][0]];
    if (own.link < 0 || own > entry) own = entry;
  }
  for (const std::int32_t m : members) {
    if (own_[m].link >= 0) entries.push_back(std::exchange(own_[m], Entry{0, -1}));
  }
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> heap(std::greater<>(),
                                                                      std::move(entries));
  std::size_t moving = members.size();
  while (moving > 0 && !heap.empty()) {
    const auto [share, link] = heap.top();
    heap.pop();
    if (use_[link] <= kNoUse) continue;
    const double now = left_[link] / use_[link];
    if (now > share) {
      heap.push({now, link});
      continue;
    }
    for (const std::int32_t m : users_[link]) {
      if (flows[m].rate >= 0) continue;
      Freeze(flows[m], now);
      --moving;
    }
  }
  for (const std::int32_t link : links) users_[link].clear();
  for (const std::int32_t m : members) flows[m].rate = std::max(flows[m].rate, 0.0);
}

void FairShare::Divide(std::vector<ShareFlow>& flows) {
  own_.resize(std::max(own_.size(), flows.size()));
  std::vector<std::int32_t> order(flows.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int32_t a, std::int32_t b) { return flows[a].level > flows[b].level; });
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin;
    while (end < order.size() && flows[order[end]].level == flows[order[begin]].level) ++end;
    DivideLevel(flows, std::span(order).subspan(begin, end - begin));
    begin = end;
  }
}

}  // namespace yardmaster::sim
