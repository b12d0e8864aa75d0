#include "simulation/simulator/trace_speed.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "simulation/simulator/fair_share.h"

namespace yardmaster::sim {
namespace {

constexpr double kMinShare = 1e-3;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kBytesPerGbps = 1e9 / 8;  // and second

class RingRun {
 public:
  RingRun(const std::vector<double>& link_gbps, const std::vector<RingJob>& jobs, double instants)
      : gbps_(link_gbps), jobs_(jobs), states_(jobs.size()), share_(link_gbps.size()) {
    double shortest = kInfinity;
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      states_[j].left.assign(jobs[j].rings.size(), 0);
      states_[j].rate.assign(jobs[j].rings.size(), 0);
      states_[j].starts = jobs[j].offset_seconds;
      shortest = std::min(shortest, jobs[j].compute_seconds);
    }
    together_ = shortest / instants;
  }

  void RunUntil(double seconds) {
    while (now_ < seconds) {
      Divide();
      const double next = std::min(seconds, NextEvent());
      Move(next - now_);
      now_ = next;
      for (std::size_t j = 0; j < jobs_.size(); ++j) Change(j);
    }
  }

  RingTotals Totals(std::size_t j) const {
    const State& state = states_[j];
    const double since = state.computing ? std::max(0.0, now_ - state.began) : 0;
    return {state.computed + since, state.iterations};
  }

 private:
  struct State {
    double starts = 0;  // the job
    bool started = false;
    bool computing = false;
    bool sending = false;  // in this iteration it has begun
    double began = 0;
    double ready = 0;         // when its rings may start
    double compute_done = 0;  // when its compute ends
    std::int32_t rings_left = 0;
    double computed = 0;
    std::int64_t iterations = 0;
    std::vector<double> left;  // bytes, per ring
    std::vector<double> rate;  // bytes per second
  };

  void Begin(std::size_t j, double compute_done) {
    State& state = states_[j];
    const RingJob& job = jobs_[j];
    state.computing = true;
    state.sending = false;
    state.began = now_;
    state.compute_done = compute_done;
    state.ready = compute_done - (1 - job.communication_start) * job.compute_seconds;
    state.rings_left = static_cast<std::int32_t>(job.rings.size());
  }

  // Whether something of the job is due, and then done.
  bool Due(std::size_t j) {
    State& state = states_[j];
    const RingJob& job = jobs_[j];
    const double until = now_ + together_ * 1e-3;
    if (!state.started) {
      if (state.starts > until) return false;
      state.started = true;
      const double ahead = job.ready ? job.communication_start : 0;
      Begin(j, now_ + (1 - ahead) * job.compute_seconds);
      return true;
    }
    if (!state.sending && state.ready <= until) {
      state.sending = true;
      for (std::size_t r = 0; r < job.rings.size(); ++r) state.left[r] = job.rings[r].bytes;
      divided_ = false;
      return true;
    }
    if (state.computing && state.compute_done <= until) {
      state.computing = false;
      state.computed += now_ - state.began;
      return true;
    }
    if (!state.computing && state.sending && state.rings_left == 0) {
      ++state.iterations;
      Begin(j, now_ + job.compute_seconds);
      return true;
    }
    return false;
  }

  void Change(std::size_t j) {
    State& state = states_[j];
    for (std::size_t r = 0; r < state.left.size(); ++r) {
      if (state.left[r] <= 0 || state.left[r] > state.rate[r] * together_) continue;
      state.left[r] = 0;
      --state.rings_left;
      divided_ = false;
    }
    while (Due(j)) {
    }
  }

  double NextEvent() const {
    double next = kInfinity;
    for (const State& state : states_) {
      if (!state.started) {
        next = std::min(next, state.starts);
        continue;
      }
      if (!state.sending) next = std::min(next, state.ready);
      if (state.computing) next = std::min(next, state.compute_done);
      for (std::size_t r = 0; r < state.left.size(); ++r) {
        if (state.rate[r] > 0) next = std::min(next, now_ + state.left[r] / state.rate[r]);
      }
    }
    return std::max(next, now_);
  }

  void Move(double seconds) {
    for (State& state : states_) {
      for (std::size_t r = 0; r < state.left.size(); ++r) {
        // What ends together with the first event may have ended a little before it.
        if (state.left[r] > 0) {
          state.left[r] =
              std::max(1e-9 * state.rate[r] * together_, state.left[r] - state.rate[r] * seconds);
        }
      }
    }
  }

  void Divide() {
    if (divided_) return;
    divided_ = true;
    flows_.clear();
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      for (std::size_t r = 0; r < jobs_[j].rings.size(); ++r) {
        if (states_[j].left[r] <= 0) continue;
        const RingSpec& ring = jobs_[j].rings[r];
        for (const std::int32_t link : ring.links) share_.SetCapacity(link, gbps_[link]);
        flows_.push_back({ring.links, jobs_[j].level, 0, ring.uses});
      }
    }
    share_.Divide(flows_);
    std::size_t next = 0;
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      State& state = states_[j];
      for (std::size_t r = 0; r < state.left.size(); ++r) {
        state.rate[r] = state.left[r] > 0 ? flows_[next++].rate * kBytesPerGbps : 0;
      }
    }
  }

  const std::vector<double>& gbps_;
  const std::vector<RingJob>& jobs_;
  double now_ = 0;
  double together_ = 0;
  bool divided_ = false;
  std::vector<State> states_;
  std::vector<ShareFlow> flows_;
  FairShare share_;
};

// A link as its users see it: how much of its bandwidth a rate of 1 takes.
struct Column {
  std::vector<double> fills;  // per user, in their order
  std::int32_t link;
  bool operator<(const Column& other) const {
    return std::tie(fills, link) < std::tie(other.fills, other.link);
  }
};

bool Covers(const Column& more, const Column& less) {
  for (std::size_t u = 0; u < less.fills.size(); ++u) {
    if (less.fills[u] > more.fills[u]) return false;
  }
  return true;
}

}  // namespace

std::vector<double> KeepLimitingLinks(const std::vector<double>& link_gbps,
                                      std::vector<RingJob>& jobs) {
  std::map<std::int32_t, std::pair<std::vector<std::int32_t>, Column>> by_link;
  std::int32_t user = 0;
  for (const RingJob& job : jobs) {
    for (const RingSpec& ring : job.rings) {
      for (std::size_t i = 0; i < ring.links.size(); ++i) {
        auto& [users, column] = by_link[ring.links[i]];
        users.push_back(user);
        column.fills.push_back(ring.uses[i] / link_gbps[ring.links[i]]);
        column.link = ring.links[i];
      }
      ++user;
    }
  }
  std::map<std::vector<std::int32_t>, std::vector<Column>> by_users;
  for (auto& [link, entry] : by_link) {
    by_users[std::move(entry.first)].push_back(std::move(entry.second));
  }
  std::map<std::int32_t, std::int32_t> number;
  std::vector<double> kept;
  for (auto& [users, columns] : by_users) {
    std::vector<const Column*> limiting;
    std::sort(columns.begin(), columns.end());
    // From the fullest for the first user on: nothing that comes later covers what stands.
    for (auto column = columns.rbegin(); column != columns.rend(); ++column) {
      const auto covers = [&](const Column* other) { return Covers(*other, *column); };
      if (std::none_of(limiting.begin(), limiting.end(), covers)) limiting.push_back(&*column);
    }
    for (const Column* column : limiting) {
      number.emplace(column->link, static_cast<std::int32_t>(kept.size()));
      kept.push_back(link_gbps[column->link]);
    }
  }
  for (RingJob& job : jobs) {
    for (RingSpec& ring : job.rings) {
      RingSpec fewer{ring.bytes, {}, {}};
      for (std::size_t i = 0; i < ring.links.size(); ++i) {
        const auto at = number.find(ring.links[i]);
        if (at == number.end()) continue;
        fewer.links.push_back(at->second);
        fewer.uses.push_back(ring.uses[i]);
      }
      ring = std::move(fewer);
    }
  }
  return kept;
}

std::vector<RingTotals> RunRings(const std::vector<double>& link_gbps,
                                 const std::vector<RingJob>& jobs, double seconds,
                                 double instants) {
  RingRun run(link_gbps, jobs, instants);
  run.RunUntil(seconds);
  std::vector<RingTotals> totals;
  for (std::size_t j = 0; j < jobs.size(); ++j) totals.push_back(run.Totals(j));
  return totals;
}

std::vector<double> ComputeShares(const std::vector<double>& link_gbps, std::vector<RingJob> jobs,
                                  double window_seconds) {
  const std::vector<double> gbps = KeepLimitingLinks(link_gbps, jobs);
  RingRun run(gbps, jobs, kInstants);
  // The first iterations show the start, not the steady state.
  const double warm_up = window_seconds / 4;
  run.RunUntil(warm_up);
  std::vector<double> shares;
  for (std::size_t j = 0; j < jobs.size(); ++j) shares.push_back(run.Totals(j).compute_seconds);
  run.RunUntil(warm_up + window_seconds);
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const double computed = run.Totals(j).compute_seconds - shares[j];
    shares[j] = std::max(computed / window_seconds, kMinShare);
  }
  return shares;
}

}  // namespace yardmaster::sim
