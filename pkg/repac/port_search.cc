#include "pkg/repac/port_search.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "pkg/base/status.h"
#include "pkg/base/strings.h"

namespace yardmaster::repac {

namespace {

constexpr unsigned kPorts = 1u << kSourcePortBits;

bool IsPowerOfTwo(int n) { return n > 0 && (n & (n - 1)) == 0; }

bool IsLinearSystem(const std::vector<HopTarget>& hops) {
  return std::all_of(hops.begin(), hops.end(), [](const HopTarget& hop) {
    return hop.wanted.empty() || (hop.function.linear && hop.thresholds.empty() &&
                                  IsPowerOfTwo(hop.members) && hop.wanted.size() == 1);
  });
}

std::vector<Equation> EquationsOf(const std::vector<HopTarget>& hops) {
  std::vector<Equation> equations;
  for (const HopTarget& hop : hops) {
    if (hop.wanted.empty()) continue;
    const int bits = std::countr_zero(static_cast<unsigned>(hop.members));
    for (int bit = 0; bit < bits; ++bit) {
      Equation equation;
      for (std::size_t i = 0; i < hop.function.columns.size(); ++i) {
        equation.unknowns |= static_cast<std::uint16_t>((hop.function.columns[i] >> bit & 1u) << i);
      }
      const auto wanted = static_cast<std::uint64_t>(hop.wanted[0]);
      equation.sum = ((hop.function.base ^ wanted) >> bit & 1) != 0;
      equations.push_back(equation);
    }
  }
  return equations;
}

bool Usable(std::uint16_t port, const UsedPorts& used) {
  return port >= kFirstSourcePort && !std::binary_search(used.begin(), used.end(), port);
}

// Runs through particular + null space, beginning with the combination that `start` names.
std::optional<std::uint16_t> PickSolution(const LinearSolution& solution, const UsedPorts& used,
                                          std::uint16_t start) {
  const unsigned combinations = 1u << solution.null_space.size();
  for (unsigned step = 0; step < combinations; ++step) {
    const unsigned chosen = (step + start) & (combinations - 1);
    unsigned x = solution.particular;
    for (std::size_t i = 0; i < solution.null_space.size(); ++i) {
      if ((chosen >> i & 1) != 0) x ^= solution.null_space[i];
    }
    const auto port = static_cast<std::uint16_t>(kSourcePortBase | x);
    if (Usable(port, used)) return port;
  }
  return std::nullopt;
}

// Of the hops that want a member, with a flag for every member. It refers to the hops' thresholds.
struct Wanted {
  std::vector<PortFunction> functions;
  std::vector<MemberChoice> choices;
  std::vector<std::vector<char>> flags;
};

Wanted WantedOf(const std::vector<HopTarget>& hops) {
  Wanted out;
  for (const HopTarget& hop : hops) {
    if (hop.wanted.empty()) continue;
    out.functions.push_back(hop.function);
    out.choices.emplace_back(static_cast<std::size_t>(hop.members), hop.thresholds);
    std::vector<char> flags(static_cast<std::size_t>(hop.members));
    for (int member : hop.wanted) flags[static_cast<std::size_t>(member)] = 1;
    out.flags.push_back(std::move(flags));
  }
  return out;
}

bool Suits(const Wanted& wanted, std::span<const std::uint64_t> values) {
  for (std::size_t j = 0; j < values.size(); ++j) {
    if (wanted.flags[j][wanted.choices[j](values[j])] == 0) return false;
  }
  return true;
}

absl::Status CheckTargets(const std::vector<HopTarget>& hops) {
  for (std::size_t j = 0; j < hops.size(); ++j) {
    if (hops[j].members < 1) {
      return FieldError(StrCat("hops[", j, "].members"), "is below 1", "give a group a member");
    }
    for (int member : hops[j].wanted) {
      if (member < 0 || member >= hops[j].members) {
        return FieldError(StrCat("hops[", j, "].wanted"), StrCat("there is no member ", member),
                          StrCat("name one below ", hops[j].members));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status NoPort(const std::vector<HopTarget>& hops, const UsedPorts& used) {
  std::vector<std::string> reasons;
  for (const Polarisation& p : FindPolarisation(hops)) reasons.push_back(ToString(p));
  if (reasons.empty()) {
    reasons.push_back(used.empty() ? "the wanted members never come together"
                                   : StrCat("or ", used.size(), " ports are taken already"));
  }
  return absl::NotFoundError(StrCat("no source port takes this path: ", Join(reasons, "; ")));
}

}  // namespace

std::optional<LinearSolution> Solve(std::vector<Equation> equations) {
  // Reduced row echelon form; pivot_of[i] is the row that decides unknown i.
  std::array<int, kSourcePortBits> pivot_of;
  pivot_of.fill(-1);
  std::size_t rank = 0;
  for (int unknown = 0; unknown < kSourcePortBits; ++unknown) {
    const auto bit = static_cast<std::uint16_t>(1u << unknown);
    std::size_t row = rank;
    while (row < equations.size() && (equations[row].unknowns & bit) == 0) ++row;
    if (row == equations.size()) continue;
    std::swap(equations[row], equations[rank]);
    for (std::size_t other = 0; other < equations.size(); ++other) {
      if (other == rank || (equations[other].unknowns & bit) == 0) continue;
      equations[other].unknowns ^= equations[rank].unknowns;
      equations[other].sum = equations[other].sum != equations[rank].sum;
    }
    pivot_of[static_cast<std::size_t>(unknown)] = static_cast<int>(rank++);
  }
  for (std::size_t row = rank; row < equations.size(); ++row) {
    if (equations[row].sum) return std::nullopt;
  }
  LinearSolution solution;
  for (int unknown = 0; unknown < kSourcePortBits; ++unknown) {
    const int pivot = pivot_of[static_cast<std::size_t>(unknown)];
    if (pivot >= 0) {
      if (equations[static_cast<std::size_t>(pivot)].sum) {
        solution.particular |= static_cast<std::uint16_t>(1u << unknown);
      }
      continue;
    }
    // A free unknown: set it, and the pivots whose rows contain it.
    auto vector = static_cast<std::uint16_t>(1u << unknown);
    for (int p = 0; p < kSourcePortBits; ++p) {
      const int row = pivot_of[static_cast<std::size_t>(p)];
      if (row < 0 || (equations[static_cast<std::size_t>(row)].unknowns >> unknown & 1) == 0)
        continue;
      vector |= static_cast<std::uint16_t>(1u << p);
    }
    solution.null_space.push_back(vector);
  }
  return solution;
}

absl::StatusOr<std::uint16_t> FindPort(const std::vector<HopTarget>& hops, const UsedPorts& used,
                                       std::uint16_t start) {
  YM_RETURN_IF_ERROR(CheckTargets(hops));
  std::optional<std::uint16_t> port;
  if (IsLinearSystem(hops)) {
    const auto solution = Solve(EquationsOf(hops));
    if (solution) port = PickSolution(*solution, used, start);
  } else {
    const Wanted wanted = WantedOf(hops);
    port = WalkPorts(wanted.functions, start, [&](std::uint16_t p, const auto& values) {
      return Suits(wanted, values) && Usable(p, used);
    });
  }
  if (!port) return NoPort(hops, used);
  return *port;
}

std::vector<Polarisation> FindPolarisation(const std::vector<HopTarget>& hops) {
  std::vector<Polarisation> found;
  for (std::size_t a = 0; a < hops.size(); ++a) {
    for (std::size_t b = a + 1; b < hops.size(); ++b) {
      if (hops[a].members < 2 || hops[b].members < 2) continue;
      const auto n = static_cast<std::uint64_t>(hops[a].members);
      const auto m = static_cast<std::uint64_t>(hops[b].members);
      std::vector<std::uint64_t> pairs;
      WalkPorts(std::array{hops[a].function, hops[b].function}, kFirstSourcePort,
                [&](std::uint16_t, const auto& values) {
                  pairs.push_back(MemberOf(values[0], n, hops[a].thresholds) * m +
                                  MemberOf(values[1], m, hops[b].thresholds));
                  return false;
                });
      std::sort(pairs.begin(), pairs.end());
      pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
      const auto possible = static_cast<double>(n * m);
      // What throwing 16,383 balls into that many boxes fills on average.
      const double expected = possible * (1 - std::exp(-(kPorts - 1.0) / possible));
      if (static_cast<double>(pairs.size()) >= 0.75 * expected) continue;
      found.push_back({static_cast<int>(a), static_cast<int>(b), static_cast<int>(pairs.size()),
                       static_cast<int>(n * m)});
    }
  }
  return found;
}

std::string ToString(const Polarisation& polarisation) {
  return StrCat("polarisation: hops ", polarisation.first, " and ", polarisation.second,
                " hash alike, so only ", polarisation.reachable, " of ", polarisation.possible,
                " combinations of their members exist");
}

}  // namespace yardmaster::repac
