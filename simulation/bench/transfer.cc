#include "simulation/bench/transfer.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "simulation/simulator/fair_share.h"

namespace yardmaster::bench {

namespace {

using fabric::LinkId;
using fabric::Network;

constexpr double kBytesPerGbps = 1e9 / 8;  // and second
constexpr double kNever = std::numeric_limits<double>::infinity();
// Flows that end this close together (relative) end in one event.
constexpr double kTogether = 1e-9;

struct Running {
  std::size_t leg = 0;
  std::vector<std::int32_t> links;
  double left = 0;
  double gbps = 0;
  bool done = false;
};

class Transfers {
 public:
  Transfers(const Network& network, const std::vector<TransferFlow>& flows, double window)
      : network_(network),
        flows_(flows),
        window_(window),
        running_(flows.size()),
        results_(flows.size()),
        share_(static_cast<std::size_t>(network.num_links())) {
    for (std::size_t i = 0; i < flows.size(); ++i) {
      running_[i].left = flows[i].bytes;
      if (!flows[i].legs.empty()) Enter(i, 0);
    }
  }

  std::vector<TransferResult> Run() {
    double now = 0;
    while (now < window_) {
      Divide();
      const double next = std::min(window_, NextEvent(now));
      Advance(next - now);
      now = next;
      Change(now);
      if (std::all_of(running_.begin(), running_.end(), [](const Running& r) { return r.done; }))
        break;
    }
    for (std::size_t i = 0; i < running_.size(); ++i) {
      if (running_[i].done) continue;
      results_[i].finish_seconds = window_;
      results_[i].last_gbps = running_[i].gbps;
    }
    return std::move(results_);
  }

 private:
  void Enter(std::size_t flow, std::size_t leg) {
    Running& r = running_[flow];
    r.leg = leg;
    r.links.clear();
    for (LinkId link : flows_[flow].legs[leg].links) r.links.push_back(link.value);
  }

  double NextLeg(std::size_t flow) const {
    const std::vector<TransferLeg>& legs = flows_[flow].legs;
    const std::size_t next = running_[flow].leg + 1;
    return next < legs.size() ? legs[next].start_seconds : kNever;
  }

  void Divide() {
    std::vector<sim::ShareFlow> shares;
    std::vector<std::size_t> who;
    for (std::size_t i = 0; i < running_.size(); ++i) {
      running_[i].gbps = 0;
      if (running_[i].done || running_[i].links.empty()) continue;
      for (std::int32_t link : running_[i].links) {
        share_.SetCapacity(link, network_.gbps(LinkId(link)));
      }
      shares.push_back({running_[i].links, 0, 0});
      who.push_back(i);
    }
    share_.Divide(shares);
    for (std::size_t k = 0; k < who.size(); ++k) running_[who[k]].gbps = shares[k].rate;
  }

  double NextEvent(double now) const {
    double next = kNever;
    for (std::size_t i = 0; i < running_.size(); ++i) {
      const Running& r = running_[i];
      if (r.done) continue;
      next = std::min(next, NextLeg(i));
      if (r.gbps > 0) next = std::min(next, now + r.left / (r.gbps * kBytesPerGbps));
    }
    return next;
  }

  void Advance(double seconds) {
    for (std::size_t i = 0; i < running_.size(); ++i) {
      Running& r = running_[i];
      if (r.done) continue;
      const double bytes = r.gbps * kBytesPerGbps * seconds;
      r.left -= bytes;
      results_[i].delivered_bytes += bytes;
      if (r.links.empty()) results_[i].stalled_seconds += seconds;
    }
  }

  void Change(double now) {
    for (std::size_t i = 0; i < running_.size(); ++i) {
      Running& r = running_[i];
      if (r.done) continue;
      if (r.left <= kTogether * flows_[i].bytes) {
        r.done = true;
        results_[i].finish_seconds = now;
        results_[i].last_gbps = r.gbps;
        continue;
      }
      while (NextLeg(i) <= now) Enter(i, r.leg + 1);
    }
  }

  const Network& network_;
  const std::vector<TransferFlow>& flows_;
  double window_;
  std::vector<Running> running_;
  std::vector<TransferResult> results_;
  sim::FairShare share_;
};

}  // namespace

std::vector<TransferResult> RunTransfers(const Network& network,
                                         const std::vector<TransferFlow>& flows,
                                         double window_seconds) {
  return Transfers(network, flows, window_seconds).Run();
}

}  // namespace yardmaster::bench
