#include "pkg/placement/solver/domain_fill.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "pkg/placement/solver/search_bounds.h"

namespace yardmaster::placement {

namespace {

std::vector<int> RoomsLargestFirst(const std::vector<FreeDomain>& domains) {
  std::vector<int> rooms;
  for (const FreeDomain& domain : domains) rooms.push_back(domain.room);
  std::sort(rooms.rbegin(), rooms.rend());
  return rooms;
}

// Of the sets of `count` domains with room for so many workers that of the tightest domains.
std::vector<FreeDomain> Tightest(std::vector<FreeDomain> domains, std::size_t count, int workers) {
  std::sort(domains.begin(), domains.end(), [](const FreeDomain& a, const FreeDomain& b) {
    return std::tie(a.room, a.degraded, a.domain) < std::tie(b.room, b.degraded, b.domain);
  });
  std::vector<FreeDomain> chosen;
  for (std::size_t i = 0; i < domains.size() && chosen.size() < count; ++i) {
    // With the widest of those that follow.
    int room = domains[i].room;
    const std::size_t more = count - chosen.size() - 1;
    if (domains.size() - i - 1 < more) break;
    for (std::size_t k = 0; k < more; ++k) room += domains[domains.size() - 1 - k].room;
    for (const FreeDomain& domain : chosen) room += domain.room;
    if (room >= workers) chosen.push_back(domains[i]);
  }
  return chosen;
}

// Equal pieces: the tightest domains are filled first, so that what stays free is in one.
std::vector<int> FillEqual(std::vector<FreeDomain> domains, std::size_t pieces, int size) {
  for (FreeDomain& domain : domains) domain.room -= domain.room % size;
  const int workers = static_cast<int>(pieces) * size;
  const int count = FewestDomains(domains, workers);
  if (count > static_cast<int>(domains.size())) return {};
  std::vector<FreeDomain> chosen = Tightest(domains, static_cast<std::size_t>(count), workers);
  std::map<int, int> given;  // pieces, by domain
  auto left = static_cast<int>(pieces);
  for (const FreeDomain& domain : chosen) {
    const int taken = std::min(left, domain.room / size);
    if (taken > 0) given[domain.domain] = taken;
    left -= taken;
  }
  std::vector<int> out;
  for (const auto& [domain, taken] : given) {
    out.insert(out.end(), static_cast<std::size_t>(taken), domain);
  }
  return out;
}

// Units of several pieces.
class UnitFill {
 public:
  explicit UnitFill(const std::vector<FreeDomain>& domains)
      : domains_(domains), used_(domains.size(), 0) {}

  bool Run(const std::vector<DomainPiece>& pieces, std::vector<int>& out) {
    std::map<int, std::vector<std::size_t>> units;
    for (std::size_t p = 0; p < pieces.size(); ++p) units[pieces[p].unit].push_back(p);
    for (const auto& [unit, members] : units) {
      int left = 0;
      for (const std::size_t p : members) left += pieces[p].size;
      int at = -1;
      for (const std::size_t p : members) {
        const int size = pieces[p].size;
        if (at < 0 || domains_[static_cast<std::size_t>(at)].room < size) at = Find(left, size);
        if (at < 0) return false;
        domains_[static_cast<std::size_t>(at)].room -= size;
        used_[static_cast<std::size_t>(at)] = 1;
        left -= size;
        out[p] = domains_[static_cast<std::size_t>(at)].domain;
      }
    }
    return true;
  }

 private:
  // The tightest that takes all, in use before others; else the widest that takes one piece; -1.
  int Find(int all, int one) const {
    std::optional<std::tuple<bool, bool, int, int, int>> best;
    for (std::size_t d = 0; d < domains_.size(); ++d) {
      const FreeDomain& domain = domains_[d];
      if (domain.room < one) continue;
      const bool takes_all = domain.room >= all;
      const std::tuple key{!takes_all, takes_all && used_[d] == 0,
                           takes_all ? domain.room : -domain.room, domain.degraded,
                           static_cast<int>(d)};
      if (!best || key < *best) best = key;
    }
    return best ? std::get<4>(*best) : -1;
  }

  std::vector<FreeDomain> domains_;
  std::vector<char> used_;
};

}  // namespace

int FewestDomains(const std::vector<FreeDomain>& domains, int workers) {
  return PlacesFor(workers, RoomsLargestFirst(domains));
}

std::vector<int> FillDomains(const std::vector<FreeDomain>& domains,
                             const std::vector<DomainPiece>& pieces) {
  if (pieces.empty()) return {};
  std::map<int, int> pieces_of_unit;
  for (const DomainPiece& piece : pieces) ++pieces_of_unit[piece.unit];
  const bool equal = pieces_of_unit.size() == pieces.size() &&
                     std::all_of(pieces.begin(), pieces.end(), [&](const DomainPiece& piece) {
                       return piece.size == pieces[0].size;
                     });
  if (equal) return FillEqual(domains, pieces.size(), pieces[0].size);
  std::vector<int> out(pieces.size(), -1);
  return UnitFill(domains).Run(pieces, out) ? out : std::vector<int>();
}

}  // namespace yardmaster::placement
