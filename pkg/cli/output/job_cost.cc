#include "pkg/cli/output/job_cost.h"

#include <cmath>

#include "nlohmann/json.hpp"

#include "pkg/api/capacity_status.h"
#include "pkg/base/clock.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/capacity/chooser.h"
#include "pkg/state/capacity_offers.h"

namespace yardmaster::cli {

namespace {

using nlohmann::ordered_json;

std::string PriceText(double micros, const std::string& currency) {
  // Cents are enough for a price that is an expectation.
  constexpr double kMicrosPerCent = 10'000;
  const auto cents = static_cast<capacity::Micros>(std::llround(micros / kMicrosPerCent));
  return capacity::FormatMoney({cents * static_cast<capacity::Micros>(kMicrosPerCent), currency});
}

std::string CurrencyOf(const api::TrainingJob& job, const std::vector<api::CapacityPool>& pools) {
  if (job.capacity.has_cap() || pools.empty()) return job.capacity.currency();
  return pools.front().offers.front().price_per_hour.currency;
}

ordered_json HostsOf(const capacity::Choice& choice, const state::CapacityQuestion& question) {
  ordered_json hosts = ordered_json::array();
  for (const capacity::Rented& rented : choice.rented) {
    const state::OfferName& name = question.names[static_cast<std::size_t>(rented.offer)];
    hosts.push_back(
        {{"pool", name.pool}, {"type", api::NameOf(name.type)}, {"hosts", rented.hosts}});
  }
  return hosts;
}

std::string CapText(const std::optional<capacity::Money>& cap) {
  return cap ? StrCat(" of at most ", capacity::FormatMoney(*cap)) : std::string();
}

std::string RentedText(const api::CapacityStatus& status) {
  std::vector<std::string> parts;
  for (const api::RentedHosts& part : status.hosts) {
    parts.push_back(StrCat(part.provided, " of ", Count(part.hosts, "host"), " of ", part.pool,
                           " (", api::NameOf(part.type), ")"));
  }
  return Join(parts, ", ");
}

}  // namespace

absl::StatusOr<ordered_json> CostOf(const api::TrainingJob& job,
                                    const std::vector<api::CapacityPool>& pools) {
  YM_ASSIGN_OR_RETURN(const state::CapacityQuestion question,
                      state::AskForCapacity(job, pools, {}, job.status.capacity.spent));
  const std::string currency = CurrencyOf(job, pools);
  const capacity::ChoiceOutcome outcome = Choose(question.offers, question.need);
  ordered_json answer = {{"namespace", job.metadata.namespace_name},
                         {"name", job.metadata.name},
                         {"feasible", outcome.choice.has_value()},
                         {"currency", currency}};
  if (!outcome.choice) {
    if (outcome.lowest_price) {
      answer["lowestPricePerHour"] = capacity::FormatMoney({*outcome.lowest_price, currency});
    }
    answer["message"] = state::DescribeRefusal(outcome, question, currency);
    return answer;
  }
  const capacity::Choice& choice = *outcome.choice;
  answer["pricePerHour"] = capacity::FormatMoney({choice.price, currency});
  answer["usefulPricePerHour"] = PriceText(choice.useful_price, currency);
  answer["lostShare"] = choice.lost_share;
  answer["interruptionsPerHour"] = choice.interruptions_per_hour;
  const double interval = capacity::BestIntervalSeconds(question.need.checkpoint.checkpoint_seconds,
                                                        choice.interruptions_per_hour);
  if (std::isfinite(interval)) answer["checkpointIntervalSeconds"] = std::llround(interval);
  answer["exact"] = choice.exact;
  answer["hosts"] = HostsOf(choice, question);
  answer["message"] = state::DescribeChoice(choice, question, currency);
  return answer;
}

std::vector<api::CapacityPool> PoolsOf(const state::ClusterState& cluster) {
  std::vector<api::CapacityPool> pools;
  for (const auto& pool : cluster.pools) pools.push_back(*pool);
  return pools;
}

std::vector<std::pair<std::string, std::string>> ExplainCost(
    const api::TrainingJob& job, const std::vector<api::CapacityPool>& pools) {
  const api::CapacityStatus& status = job.status.capacity;
  if (!job.capacity.has_cap() && status.generation == 0) return {};
  const std::string currency = status.currency.empty() ? job.capacity.currency() : status.currency;
  std::vector<std::pair<std::string, std::string>> lines;
  lines.emplace_back("rented:", StrCat(api::NameOf(status.phase), status.active() ? ", " : "",
                                       status.active() ? RentedText(status) : std::string()));
  lines.emplace_back("rate:", StrCat(capacity::FormatMoney({status.rate, currency}), "/h",
                                     CapText(job.capacity.max_cost_per_hour)));
  std::string spent =
      StrCat(capacity::FormatMoney({status.spent, currency}), CapText(job.capacity.max_total_cost));
  if (status.accounted_ms != 0) spent += StrCat(" until ", FormatTime(status.accounted_ms));
  lines.emplace_back("spent:", StrCat(spent, ", moved ", Count(status.moves, "time")));
  if (status.phase == api::RentalPhase::kProvisioned) {
    lines.emplace_back("next hour:", "on the same hosts");
    return lines;
  }
  const auto next = CostOf(job, pools);
  if (next.ok()) lines.emplace_back("next hour:", (*next)["message"].get<std::string>());
  return lines;
}

}  // namespace yardmaster::cli
