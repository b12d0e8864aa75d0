#include <istream>
#include <ostream>
#include <string_view>

#include "CLI/CLI.hpp"
#include "pkg/base/strings.h"
#include "pkg/cli/commands.h"
#include "pkg/cli/flags.h"
#include "pkg/cli/input/read_input.h"
#include "pkg/cli/output/print_objects.h"
#include "pkg/crux/intensity.h"
#include "simulation/formats/crux_case.h"
#include "simulation/policies/policies.h"
#include "simulation/simulator/evaluate.h"

namespace yardmaster::cli {
namespace {

constexpr std::int64_t kMaxEvents = 20'000'000;
constexpr std::int64_t kMaxBudget = 10'000'000'000;

struct CruxFlags {
  std::string file;
  std::string output = "json";
  std::string policy = "crux";
  std::uint64_t seed = 1;
  double window_seconds = 0;
  std::int64_t budget = crux::AnytimeSearchOptions().event_budget;
};

void Declare(CruxFlags& flags, CLI::App& app) {
  app.add_option("-f,--filename", flags.file, "the case, JSON or YAML; - is standard input")
      ->required();
  app.add_option("-o,--output", flags.output, "output format")->check(CLI::IsMember({"json"}));
  std::vector<std::string> policies;
  for (const crux::Policy policy : crux::AllPolicies()) {
    policies.emplace_back(crux::PolicyName(policy));
  }
  app.add_option("--policy", flags.policy, "Scheduling policy")->check(CLI::IsMember(policies));
  DeclareSeed(flags.seed, app);
  app.add_option("--window-seconds", flags.window_seconds,
                 "window of the utilisation (default: 100 iterations of the slowest job)")
      ->check(PositiveNumber())
      ->default_function({});
  app.add_option("--budget", flags.budget,
                 "work of policy crux, in simulated events; 0: no search (default: the operator's)")
      ->check(CLI::Range(std::int64_t{0}, kMaxBudget));
}

// A window that holds more iterations than can be simulated is better refused than begun.
absl::Status CheckWindow(const crux::Problem& problem, double window_seconds) {
  const double window = window_seconds > 0 ? window_seconds : sim::DefaultWindow(problem, nullptr);
  double events = 0;
  for (const crux::ContendingJob& job : problem.jobs) {
    const double per_iteration = 2 + static_cast<double>(job.flows.size());
    events += per_iteration * window / crux::IterationSeconds(job, 0);
  }
  if (events <= kMaxEvents) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      StrCat("a window of ", window, " s may hold ", events, " events, more than the ", kMaxEvents,
             " that are simulated; give a shorter window with --window-seconds"));
}

absl::StatusOr<nlohmann::json> Answer(const CruxFlags& flags, std::string_view text,
                                      const std::string& name) {
  YM_ASSIGN_OR_RETURN(const crux::Problem problem, sim::ReadCruxCase(text, name));
  YM_RETURN_IF_ERROR(CheckWindow(problem, flags.window_seconds));
  YM_ASSIGN_OR_RETURN(const crux::Policy policy, crux::ParsePolicy(flags.policy));
  crux::Options options;
  options.seed = flags.seed;
  options.search.event_budget = flags.budget;
  crux::ExactOptions exact;
  exact.window_seconds = flags.window_seconds;
  const sim::CanonicalCase canonical = sim::Canonical(problem);
  YM_ASSIGN_OR_RETURN(const crux::Solution solution,
                      crux::DecideBy(policy, canonical.problem, options, exact));
  sim::EvaluateOptions evaluate;
  evaluate.window_seconds = flags.window_seconds;
  evaluate.simulator.max_events = kMaxEvents;
  YM_ASSIGN_OR_RETURN(const sim::Evaluation evaluation,
                      sim::Evaluate(canonical.problem, solution, evaluate));
  return sim::CruxAnswer(problem, sim::InOrderOfTheFile(canonical, solution),
                         evaluation.utilisation);
}

}  // namespace

int RunCruxCommand(const Args& args, std::istream& in, std::ostream& out, std::ostream& err) {
  CruxFlags flags;
  CLI::App app("Intensity, paths, priorities and levels of the jobs in a case file",
               "kubectl yardmaster crux");
  Declare(flags, app);
  app.footer(
      "Examples:\n"
      "  kubectl yardmaster crux -f case.yaml\n"
      "  kubectl yardmaster crux -f case.yaml --policy ecmp");
  if (const auto code = ParseFlags(app, args, out, err)) return *code;
  const std::string name = InputName(flags.file);
  const absl::StatusOr<std::string> text = ReadInput(flags.file, in);
  if (!text.ok()) return Fail(text.status(), err);
  const absl::StatusOr<nlohmann::json> answer = Answer(flags, *text, name);
  if (!answer.ok()) {
    const std::string message = MessageOf(answer.status());
    const bool named = message.compare(0, name.size(), name) == 0;
    err << (named ? "" : name + ": ") << message << "\n";
    return 1;
  }
  PrintAnswer(*answer, flags.output, out);
  return 0;
}

}  // namespace yardmaster::cli
