// What interruptions cost a lockstep job: the share of its rented time that brings it no further.
//
// A gang stops as a whole when one of its hosts is taken back. With the time C of one checkpoint,
// the time R from an interruption to the next useful step, the interval tau between checkpoints and
// the rates (1/h) of interruptions that are announced at least C before (L) and of others (L'), the
// first-order expectation (Young, CACM 17(9), 1974) is
//
//   share(tau) = C / tau + L' * (tau / 2 + R) + L * (C + R)    minimal at tau* = sqrt(2 C / L')
//
// An announced interruption lets the job write a checkpoint in time, so that nothing is repeated.
// It holds while L' * tau is well below 1. Thread safety: pure functions.
#pragma once

namespace yardmaster::capacity {

struct CheckpointCost {
  double checkpoint_seconds = 60;  // C
  double restart_seconds = 120;    // R
  // tau as the job does it; 0: it uses tau*.
  double interval_seconds = 0;
  bool operator==(const CheckpointCost&) const = default;
};

struct Interruptions {
  double announced_per_hour = 0;    // L
  double unannounced_per_hour = 0;  // L'
};

// tau* in seconds; infinity without unannounced interruptions.
double BestIntervalSeconds(double checkpoint_seconds, double unannounced_per_hour);

// The share of time lost, at least 0; 1 and more means that the job makes no progress.
double LostShare(const CheckpointCost& cost, const Interruptions& interruptions);

}  // namespace yardmaster::capacity
