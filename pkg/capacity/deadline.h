// Whether a job can go on using hosts that are taken back, and still keep its deadline.
//
// The problem: W seconds of work are left and T seconds until the deadline. Hosts of one kind stay
// and are dear, those of the other are cheap and may be taken back at any moment. A change of hosts
// takes D seconds without progress, and repeats up to A seconds of work: what was done since the
// last checkpoint. With the slack
//
//   S = T - W - A - D
//
// a job that has S <= 0 needs hosts that stay, now: a later change to them would be too late. One
// that stands still pays a change for the cheap hosts as well, so it needs S > D for them.
//
// This is the safety net of "Can't Be Late" (Wu and others, NSDI 2024, section 4), which SkyNomad
// (arXiv 2601.06520) keeps. Without a forecast no rule that keeps every deadline can wait longer.
// It fails where a change takes longer than D or hosts that stay cannot be had.
//
// Thread safety: pure functions.
#pragma once

namespace yardmaster::capacity {

struct DeadlineNeed {
  double seconds_left = 0;     // T; negative once the deadline has passed
  double work_seconds = 0;     // W, checkpoints included
  double change_seconds = 0;   // D
  double at_risk_seconds = 0;  // A
};

// S in seconds.
double SlackSeconds(const DeadlineNeed& need);

// Whether hosts that may be taken back can be used. `running`: on such hosts already.
bool MayUseRevocableHosts(const DeadlineNeed& need, bool running);

}  // namespace yardmaster::capacity
