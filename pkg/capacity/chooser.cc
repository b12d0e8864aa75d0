#include "pkg/capacity/chooser.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace yardmaster::capacity {
namespace {

constexpr double kNano = 1e-9;
constexpr int kNone = -1;
constexpr int kFewLabels = 8;

// A partial choice. What it consists of lies in Steps::nodes, from `step` backwards.
struct Label {
  Micros price = 0;
  std::int64_t announced_nano = 0;
  std::int64_t unannounced_nano = 0;
  int step = kNone;

  auto key() const { return std::tie(price, announced_nano, unannounced_nano); }
  bool AtMost(const Label& other) const {
    return price <= other.price && announced_nano <= other.announced_nano &&
           unannounced_nano <= other.unannounced_nano;
  }
};

// Labels none of which is at most another, ascending by key.
using Front = std::vector<Label>;
// The front of every number of workers (or groups) that can be carried.
using Fronts = std::vector<Front>;

Choice Evaluate(const Label& label, const Need& need) {
  Choice choice;
  choice.price = label.price;
  const Interruptions interruptions{kNano * static_cast<double>(label.announced_nano),
                                    kNano * static_cast<double>(label.unannounced_nano)};
  choice.interruptions_per_hour =
      interruptions.announced_per_hour + interruptions.unannounced_per_hour;
  choice.lost_share = LostShare(need.checkpoint, interruptions);
  choice.useful_price = choice.lost_share < 1
                            ? static_cast<double>(choice.price) / (1 - choice.lost_share)
                            : std::numeric_limits<double>::infinity();
  return choice;
}

bool Better(const Choice& a, const Choice& b) {
  return std::tie(a.useful_price, a.lost_share, a.price) <
         std::tie(b.useful_price, b.lost_share, b.price);
}

// The least that 0 to `workers` more workers add to one sum: the offers' hosts in the order of
// `value` per worker, parts of hosts allowed.
template <typename Value>
std::vector<std::int64_t> Floors(const std::vector<const Offer*>& offers, int workers,
                                 Value value) {
  std::vector<std::pair<double, std::int64_t>> steps;  // value and room, of one worker
  steps.reserve(offers.size());
  for (const Offer* offer : offers) {
    steps.emplace_back(static_cast<double>(value(*offer)) / offer->workers_per_host,
                       std::int64_t{offer->hosts} * offer->workers_per_host);
  }
  std::sort(steps.begin(), steps.end());
  std::vector<std::int64_t> floors = {0};
  double sum = 0;
  for (const auto& [each, room] : steps) {
    for (std::int64_t i = 0; i < room && std::cmp_less_equal(floors.size(), workers); ++i) {
      sum += each;
      // A little less than the sum, whose rounding is below that.
      floors.push_back(static_cast<std::int64_t>(sum * (1 - 1e-9)));
    }
  }
  floors.resize(static_cast<std::size_t>(workers) + 1, floors.back());
  return floors;
}

class Chooser {
 public:
  // Labels that cannot become better than `to_beat` are dropped.
  Chooser(const std::vector<Offer>& offers, const Need& need, std::optional<int> instance_type,
          int max_labels, double to_beat)
      : offers_(offers), need_(need), max_labels_(max_labels), to_beat_(to_beat) {
    std::vector<const Offer*> usable;
    for (std::size_t i = 0; i < offers_.size(); ++i) {
      if (instance_type && offers_[i].instance_type != *instance_type) continue;
      by_domain_[offers_[i].domain].push_back(static_cast<int>(i));
      usable.push_back(&offers_[i]);
    }
    all_workers_ = need.groups * need.workers_per_group;
    price_floors_ = Floors(usable, all_workers_, [](const Offer& o) { return o.price; });
    announced_floors_ = Floors(usable, all_workers_,
                               [](const Offer& o) { return o.noticed ? o.interruptions_nano : 0; });
    unannounced_floors_ = Floors(
        usable, all_workers_, [](const Offer& o) { return o.noticed ? 0 : o.interruptions_nano; });
  }

  // The front of all groups.
  Front Solve() {
    Fronts total(static_cast<std::size_t>(need_.groups) + 1);
    total[0] = {Label{}};
    for (const auto& [domain, indices] : by_domain_) total = Join(total, SolveDomain(indices));
    return total.back();
  }

  std::vector<Rented> Trace(const Label& label) const {
    std::map<int, int> hosts;
    std::vector<int> open = {label.step};
    while (!open.empty()) {
      const int at = open.back();
      open.pop_back();
      if (at == kNone) continue;
      const Step& step = steps_[static_cast<std::size_t>(at)];
      if (step.offer != kNone) hosts[step.offer] += step.hosts;
      open.push_back(step.first);
      open.push_back(step.second);
    }
    std::vector<Rented> rented;
    rented.reserve(hosts.size());
    for (const auto& [offer, count] : hosts) rented.push_back({offer, count});
    return rented;
  }

  bool exact() const { return exact_; }

 private:
  // Either `hosts` of an offer after what `first` names, or both `first` and `second`.
  struct Step {
    int offer = kNone;
    int hosts = 0;
    int first = kNone;
    int second = kNone;
  };

  // Of each number of groups, up to those there is room for, the front in this domain.
  Fronts SolveDomain(const std::vector<int>& indices) {
    const std::int64_t size = need_.workers_per_group;
    std::int64_t room = 0;
    for (const int i : indices) {
      room += std::int64_t{offers_[i].hosts} * offers_[i].workers_per_host;
    }
    const std::int64_t groups = std::min<std::int64_t>(room / size, need_.groups);
    Fronts by_workers(static_cast<std::size_t>(groups * size) + 1);
    by_workers[0] = {Label{}};
    for (const int i : indices) by_workers = WithOffer(by_workers, i);
    // Hosts that carry more workers also carry fewer.
    for (std::size_t w = by_workers.size() - 1; w-- > 0;) {
      for (const Label& label : by_workers[w + 1]) Add(by_workers[w], label);
      Cut(by_workers[w]);
    }
    Fronts by_groups;
    for (std::int64_t g = 0; g <= groups; ++g) {
      by_groups.push_back(std::move(by_workers[static_cast<std::size_t>(g * size)]));
    }
    return by_groups;
  }

  Fronts WithOffer(const Fronts& before, int index) {
    const Offer& offer = offers_[static_cast<std::size_t>(index)];
    const auto all = static_cast<std::int64_t>(before.size()) - 1;
    Fronts after = before;
    for (std::int64_t workers = 0; workers < all; ++workers) {
      for (const Label& label : before[static_cast<std::size_t>(workers)]) {
        for (int hosts = 1; hosts <= offer.hosts; ++hosts) {
          const std::int64_t carried = workers + std::int64_t{hosts} * offer.workers_per_host;
          Label next = label;
          next.price += offer.price * hosts;
          if (need_.max_price && next.price > *need_.max_price) break;
          (offer.noticed ? next.announced_nano : next.unannounced_nano) +=
              offer.interruptions_nano * hosts;
          const std::int64_t counted = std::min(carried, all);
          if (CanWin(next, counted)) {
            AddStep(after[static_cast<std::size_t>(counted)], next,
                    {index, hosts, label.step, kNone});
          }
          if (carried >= all) break;
        }
      }
    }
    for (Front& front : after) Cut(front);
    return after;
  }

  Fronts Join(const Fronts& one, const Fronts& other) {
    Fronts joined(one.size());
    for (std::size_t a = 0; a < one.size(); ++a) {
      for (std::size_t b = 0; b < other.size() && a + b < joined.size(); ++b) {
        for (const Label& left : one[a]) {
          for (const Label& right : other[b]) {
            Label next{left.price + right.price, left.announced_nano + right.announced_nano,
                       left.unannounced_nano + right.unannounced_nano, kNone};
            const auto carried = static_cast<std::int64_t>(a + b) * need_.workers_per_group;
            if (!CanWin(next, carried)) continue;
            AddStep(joined[a + b], next, {kNone, 0, left.step, right.step});
          }
        }
      }
    }
    for (Front& front : joined) Cut(front);
    return joined;
  }

  // Whether the best completion of a label that carries `workers` would be taken.
  bool CanWin(const Label& label, std::int64_t workers) const {
    const auto missing = static_cast<std::size_t>(all_workers_ - workers);
    const Label best{label.price + price_floors_[missing],
                     label.announced_nano + announced_floors_[missing],
                     label.unannounced_nano + unannounced_floors_[missing], kNone};
    if (need_.max_price && best.price > *need_.max_price) return false;
    return max_labels_ == 1 || Evaluate(best, need_).useful_price < to_beat_;
  }

  // The step is kept only for a label that enters the front.
  void AddStep(Front& front, Label label, Step step) {
    label.step = static_cast<int>(steps_.size());
    if (Add(front, label)) steps_.push_back(step);
  }

  static bool Add(Front& front, const Label& label) {
    for (const Label& kept : front) {
      if (kept.AtMost(label)) return false;
    }
    std::erase_if(front, [&](const Label& kept) { return label.AtMost(kept); });
    front.insert(std::upper_bound(front.begin(), front.end(), label,
                                  [](const Label& a, const Label& b) { return a.key() < b.key(); }),
                 label);
    return true;
  }

  // Keeps labels at even distances along the front, the first always.
  void Cut(Front& front) {
    const auto most = static_cast<std::size_t>(max_labels_);
    if (front.size() <= most) return;
    if (max_labels_ > 1) exact_ = false;
    Front kept;
    for (std::size_t i = 0; i < most; ++i) kept.push_back(front[i * front.size() / most]);
    front = std::move(kept);
  }

  const std::vector<Offer>& offers_;
  const Need& need_;
  int max_labels_;
  double to_beat_;
  int all_workers_ = 0;
  std::map<int, std::vector<int>> by_domain_;
  // By the number of workers that are still to be carried.
  std::vector<std::int64_t> price_floors_, announced_floors_, unannounced_floors_;
  std::vector<Step> steps_;
  bool exact_ = true;
};

// The instance types to try one by one; {nullopt}: all at once.
std::vector<std::optional<int>> TypesToTry(const std::vector<Offer>& offers, const Need& need) {
  if (!need.one_instance_type) return {std::nullopt};
  std::set<int> types;
  for (const Offer& offer : offers) types.insert(offer.instance_type);
  return {types.begin(), types.end()};
}

int GroupsWithRoom(const std::vector<Offer>& offers, const Need& need, std::optional<int> type) {
  std::map<int, std::int64_t> workers;
  for (const Offer& offer : offers) {
    if (type && offer.instance_type != *type) continue;
    workers[offer.domain] += std::int64_t{offer.hosts} * offer.workers_per_host;
  }
  std::int64_t groups = 0;
  for (const auto& [domain, count] : workers) groups += count / need.workers_per_group;
  return static_cast<int>(std::min<std::int64_t>(groups, need.groups));
}

// The lowest price at any number of interruptions: fronts of one label, the cheapest.
std::optional<Micros> LowestPrice(const std::vector<Offer>& offers, Need need) {
  need.max_price.reset();
  std::optional<Micros> lowest;
  for (const std::optional<int> type : TypesToTry(offers, need)) {
    Chooser cheapest(offers, need, type, 1, std::numeric_limits<double>::infinity());
    for (const Label& label : cheapest.Solve()) {
      lowest = std::min(lowest.value_or(label.price), label.price);
    }
  }
  return lowest;
}

ChoiceOutcome ChooseWithoutBudgets(const std::vector<Offer>& offers, const Need& need,
                                   int max_labels) {
  ChoiceOutcome outcome;
  for (const std::optional<int> type : TypesToTry(offers, need)) {
    outcome.groups_with_room =
        std::max(outcome.groups_with_room, GroupsWithRoom(offers, need, type));
  }
  // Short fronts find a good choice fast; full ones then keep only what could be better.
  for (const int labels : {std::min(kFewLabels, max_labels), max_labels}) {
    bool exact = true;
    for (const std::optional<int> type : TypesToTry(offers, need)) {
      const double to_beat =
          outcome.choice ? outcome.choice->useful_price : std::numeric_limits<double>::infinity();
      Chooser chooser(offers, need, type, labels, to_beat);
      for (const Label& label : chooser.Solve()) {
        Choice choice = Evaluate(label, need);
        if (choice.lost_share >= 1) continue;  // it would never end
        if (outcome.choice && !Better(choice, *outcome.choice)) continue;
        choice.rented = chooser.Trace(label);
        outcome.choice = std::move(choice);
      }
      exact = exact && chooser.exact();
    }
    if (outcome.choice) outcome.choice->exact = exact;
  }
  if (!outcome.choice) outcome.lowest_price = LowestPrice(offers, need);
  return outcome;
}

// Takes from the dearest rented offer of a budget what is above it. False: no budget is exceeded.
bool CutToBudgets(const Choice& choice, const Need& need, std::vector<Offer>& offers) {
  std::vector<__int128> costs(need.budgets.size(), 0);
  std::vector<const Rented*> dearest(need.budgets.size(), nullptr);
  for (const Rented& rented : choice.rented) {
    const Offer& offer = offers[static_cast<std::size_t>(rented.offer)];
    if (offer.budget < 0) continue;
    const auto budget = static_cast<std::size_t>(offer.budget);
    costs[budget] += __int128{offer.price} * rented.hosts;
    const Rented*& most = dearest[budget];
    if (most == nullptr || offer.price > offers[static_cast<std::size_t>(most->offer)].price) {
      most = &rented;
    }
  }
  for (std::size_t budget = 0; budget < costs.size(); ++budget) {
    const __int128 excess = costs[budget] - need.budgets[budget];
    if (excess <= 0) continue;
    Offer& offer = offers[static_cast<std::size_t>(dearest[budget]->offer)];
    const __int128 fewer = (excess + offer.price - 1) / offer.price;
    offer.hosts = dearest[budget]->hosts -
                  static_cast<int>(std::min<__int128>(fewer, dearest[budget]->hosts));
    return true;
  }
  return false;
}

}  // namespace

ChoiceOutcome Choose(const std::vector<Offer>& offers, const Need& need, int max_labels) {
  std::vector<Offer> left = offers;
  for (Offer& offer : left) {
    if (offer.budget < 0 || offer.price == 0) continue;
    const Micros most = need.budgets[static_cast<std::size_t>(offer.budget)] / offer.price;
    offer.hosts = static_cast<int>(std::min<Micros>(offer.hosts, most));
  }
  ChoiceOutcome outcome = ChooseWithoutBudgets(left, need, max_labels);
  while (outcome.choice && CutToBudgets(*outcome.choice, need, left)) {
    outcome = ChooseWithoutBudgets(left, need, max_labels);
    if (outcome.choice) outcome.choice->exact = false;
  }
  return outcome;
}

Micros MaxPriceForTotal(Micros remaining, std::int64_t min_run_seconds) {
  constexpr __int128 kSecondsPerHour = 3600;
  if (remaining <= 0) return 0;
  const __int128 price =
      __int128{remaining} * kSecondsPerHour / std::max<std::int64_t>(min_run_seconds, 1);
  return static_cast<Micros>(std::min<__int128>(price, std::numeric_limits<Micros>::max()));
}

}  // namespace yardmaster::capacity
