// How links divide their bandwidth: strict priority between levels, max-min inside a level, found
// by progressive filling.
//
// Progressive filling: the link with the least capacity left per use is filled first, its flows
// are frozen at that rate, and so on; the share of a link never falls while others fill, so a heap
// with lazy updates suffices. Complexity: O(P log P) in the links of the flows' paths.
// A flow without capacity left gets rate 0. Deterministic. Thread safety: single threaded.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace yardmaster::sim {

struct ShareFlow {
  std::span<const std::int32_t> links;
  std::int32_t level = 0;  // higher goes first
  double rate = 0;         // answer, in the unit of the capacities
  // What of the rate each of `links` carries; empty: all of it. A ring whose hops are spread over
  // several connections puts a part on each of their links, and more than all where two hops meet.
  std::span<const double> uses = {};
};

class FairShare {
 public:
  explicit FairShare(std::size_t link_count);

  // What is left on a link before the flows of the next Divide; has to be set for each link they
  // use, and is used up by it.
  void SetCapacity(std::int32_t link, double capacity) { left_[link] = capacity; }
  double Left(std::int32_t link) const { return left_[link]; }

  // Fills in the rates of `flows`.
  void Divide(std::vector<ShareFlow>& flows);

 private:
  // A link and what it gave each flow when it was entered. The smallest comes first, of equal ones
  // the one with the lower number.
  struct Entry {
    double share = 0;
    std::int32_t link = -1;
    bool operator>(const Entry& other) const {
      return share != other.share ? share > other.share : link > other.link;
    }
  };

  void DivideLevel(std::vector<ShareFlow>& flows, std::span<const std::int32_t> members);
  void Freeze(ShareFlow& flow, double share);

  std::vector<double> left_;
  std::vector<double> use_;  // of the flows not yet frozen, per link
  std::vector<std::vector<std::int32_t>> users_;
  std::vector<Entry> own_;  // by flow: the smallest of the links that no other uses; link -1: none
};

}  // namespace yardmaster::sim
