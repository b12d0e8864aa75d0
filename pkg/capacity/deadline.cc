#include "pkg/capacity/deadline.h"

namespace yardmaster::capacity {

double SlackSeconds(const DeadlineNeed& need) {
  return need.seconds_left - need.work_seconds - need.at_risk_seconds - need.change_seconds;
}

bool MayUseRevocableHosts(const DeadlineNeed& need, bool running) {
  return SlackSeconds(need) > (running ? 0 : need.change_seconds);
}

}  // namespace yardmaster::capacity
