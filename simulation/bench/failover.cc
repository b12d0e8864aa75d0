#include "simulation/bench/failover.h"

#include <algorithm>
#include <span>

#include "pkg/repac/path.h"

namespace yardmaster::bench {

namespace {

using fabric::CableId;
using fabric::LinkId;
using fabric::LinkPath;
using fabric::Network;
using fabric::NicPort;

// More than any transfer carries.
constexpr double kUnlimitedBytes = 1e30;

class Failure {
 public:
  Failure(const repac::PathPlan& plan, const std::vector<repac::NicConnection>& connections,
          const Network& network, const std::shared_ptr<const repac::SwitchHashes>& hashes,
          const std::vector<CableId>& dead, const FailoverTiming& timing)
      : plan_(plan),
        connections_(connections),
        before_(network, hashes, {}),
        after_(network, hashes, dead),
        dead_(dead),
        timing_(timing) {
    for (const repac::PlannedFlow& flow : plan.flows) {
      flows_.push_back({kUnlimitedBytes, {{0, AliveOrNothing(flow.links)}}});
    }
  }

  void TakeAlternates() {
    repac::PathOptions avoid;
    avoid.avoid = dead_;
    const repac::PathPlan moved = repac::Replan(plan_, connections_, before_, avoid);
    Follow(moved, timing_.detect_seconds);
    // The new groups, met with the ports for the old ones, and then with their own.
    for (std::size_t i = 0; i < flows_.size(); ++i) {
      Rehash(i, moved.flows[i].src, moved.flows[i].source_port);
    }
    Follow(repac::Replan(moved, connections_, after_, {}),
           timing_.reconverge_seconds + timing_.detect_seconds);
  }

  void RetryRandomly(Random& random) {
    for (std::size_t i = 0; i < flows_.size(); ++i) {
      const repac::PlannedFlow& flow = plan_.flows[i];
      std::uint16_t port = flow.source_port;
      if (flows_[i].legs[0].links.empty()) port = Retry(i, timing_.retry_seconds, before_, random);
      Rehash(i, flow.src, port);
    }
    // Who is still nowhere goes on trying.
    for (std::size_t i = 0; i < flows_.size(); ++i) {
      if (!flows_[i].legs.back().links.empty()) continue;
      Retry(i, timing_.reconverge_seconds + timing_.retry_seconds, after_, random);
    }
  }

  void Wait() {
    for (std::size_t i = 0; i < flows_.size(); ++i) {
      Rehash(i, plan_.flows[i].src, plan_.flows[i].source_port);
    }
  }

  std::vector<TransferFlow> Take() { return std::move(flows_); }

 private:
  LinkPath AliveOrNothing(std::span<const LinkId> links) const {
    const bool alive = std::none_of(links.begin(), links.end(), [this](LinkId link) {
      return after_.is_down(Network::cable_of(link));
    });
    return alive ? LinkPath(links.begin(), links.end()) : LinkPath();
  }

  // The links a packet really takes, or nothing where it gets lost.
  LinkPath Links(const repac::ForwardingModel& forwarding, const repac::PlannedFlow& flow,
                 const NicPort& src, std::uint16_t port) const {
    const NicPort dst{flow.dst.host, flow.dst.rail, forwarding.network().plane_of(src)};
    const auto path = repac::PredictPath(forwarding, src, dst, port);
    if (!path.ok() || !path->predictable) return {};
    return AliveOrNothing(path->links);
  }

  void Add(std::size_t flow, double start, LinkPath links) {
    std::vector<TransferLeg>& legs = flows_[flow].legs;
    if (legs.back().links != links) legs.push_back({start, std::move(links)});
  }

  void Follow(const repac::PathPlan& plan, double start) {
    for (std::size_t i = 0; i < flows_.size(); ++i) {
      Add(i, start, AliveOrNothing(plan.flows[i].links));
    }
  }

  void Rehash(std::size_t flow, const NicPort& src, std::uint16_t port) {
    Add(flow, timing_.reconverge_seconds, Links(after_, plan_.flows[flow], src, port));
  }

  // Tries ports until one works; before routing has noticed, at most until then. Returns the last.
  std::uint16_t Retry(std::size_t flow, double start, const repac::ForwardingModel& forwarding,
                      Random& random) {
    constexpr int kMaxTries = 1000;
    const repac::PlannedFlow& planned = plan_.flows[flow];
    std::uint16_t port = planned.source_port;
    for (int attempt = 0; attempt < kMaxTries; ++attempt) {
      const double at = start + attempt * timing_.retry_seconds;
      if (&forwarding == &before_ && at >= timing_.reconverge_seconds) break;
      port = static_cast<std::uint16_t>(repac::kFirstSourcePort + random.Below(16383));
      LinkPath links = Links(forwarding, planned, planned.src, port);
      if (links.empty()) continue;
      Add(flow, at, std::move(links));
      break;
    }
    return port;
  }

  const repac::PathPlan& plan_;
  const std::vector<repac::NicConnection>& connections_;
  repac::ForwardingModel before_;
  repac::ForwardingModel after_;
  const std::vector<CableId>& dead_;
  const FailoverTiming& timing_;
  std::vector<TransferFlow> flows_;
};

}  // namespace

std::vector<TransferFlow> LegsAfterFailure(const repac::PathPlan& plan,
                                           const std::vector<repac::NicConnection>& connections,
                                           const Network& network,
                                           const std::shared_ptr<const repac::SwitchHashes>& hashes,
                                           const std::vector<CableId>& dead, Recovery recovery,
                                           const FailoverTiming& timing, Random& random) {
  Failure failure(plan, connections, network, hashes, dead, timing);
  switch (recovery) {
    case Recovery::kAlternatePort:
      failure.TakeAlternates();
      break;
    case Recovery::kRandomRetry:
      failure.RetryRandomly(random);
      break;
    case Recovery::kReconvergence:
      failure.Wait();
      break;
  }
  return failure.Take();
}

}  // namespace yardmaster::bench
