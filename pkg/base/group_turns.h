// Things by group, and groups that take turns: between two turns of one group each other group that
// has things has one.
//
// Invariant: a group is in `turns` if and only if it is in `things`. The caller ends a turn after
// it has taken something, and drops a group from which it has taken the last thing outside of a
// turn. Complexity: O(log groups) a turn of the first, O(groups) of another. Thread safety: none.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace yardmaster {

// `Things` is a container.
template <typename Things>
struct GroupTurns {
  std::map<std::string, Things, std::less<>> things;
  std::deque<std::string> turns;  // whose turn it is first

  bool empty() const { return turns.empty(); }

  // The group's things; a new group has its turn last. The caller adds something.
  Things& At(std::string_view group) {
    const auto [it, is_new] = things.try_emplace(std::string(group));
    if (is_new) turns.emplace_back(group);
    return it->second;
  }
  // The group that had its turn is last now, or gone where nothing is left.
  void EndTurn(const std::string& group) {
    const auto it = things.find(group);
    if (turns.front() == it->first) {
      turns.pop_front();
    } else {
      std::erase(turns, it->first);
    }
    if (it->second.empty()) {
      things.erase(it);
    } else {
      turns.push_back(it->first);
    }
  }
  void DropIfEmpty(const std::string& group) {
    const auto it = things.find(group);
    if (it == things.end() || !it->second.empty()) return;
    std::erase(turns, it->first);
    things.erase(it);
  }
};

}  // namespace yardmaster
