#include <istream>
#include <ostream>

#include "nlohmann/json.hpp"

#include "CLI/CLI.hpp"
#include "pkg/base/strings.h"
#include "pkg/cli/commands.h"
#include "pkg/cli/flags.h"
#include "pkg/cli/input/fabric_input.h"
#include "pkg/cli/input/read_input.h"
#include "pkg/cli/input/switch_names_file.h"
#include "pkg/cli/output/node_names.h"
#include "pkg/cli/output/print_objects.h"
#include "pkg/config/observations.h"

namespace yardmaster::cli {

namespace {

using nlohmann::ordered_json;
using Table = std::vector<std::vector<std::string>>;

struct VerifyFlags {
  std::vector<std::string> fabric;
  std::string seen;
  std::string names;
  std::string output = "json";
};

struct Findings {
  ordered_json json;
  Table table;
};

using Finder = absl::StatusOr<Findings> (*)(const FabricInput&, const std::string& text,
                                            const std::string& name);

constexpr char kExitCodes[] =
    "\n\nExit code: 0 answered, also when something is wrong with the fabric: then \"ok\" is "
    "false.\n"
    "1: the input is wrong. 2: usage.";

Findings ToAnswer(const fabric::Network& network, const repac::WiringReport& report) {
  Findings answer;
  const auto shown = [&](const std::string& port) {
    return fabric::ShownName(network.spec(), port);
  };
  const bool ok =
      report.faults.empty() && report.unknown_ports.empty() && report.contradictions.empty();
  answer.json = {{"ok", ok}, {"cables", network.num_cables()}, {"checked", report.checked}};
  answer.table = {{"KIND", "PORT", "BLUEPRINT", "FOUND"}};
  answer.json["faults"] = ordered_json::array();
  for (const repac::WiringFault& fault : report.faults) {
    const std::string expected = shown(fault.expected), found = shown(fault.found);
    ordered_json item = {
        {"port", fault.port}, {"expected", fault.expected}, {"found", fault.found}};
    if (expected != fault.expected) item["expectedName"] = expected;
    if (found != fault.found) item["foundName"] = found;
    answer.json["faults"].push_back(std::move(item));
    answer.table.push_back({"miswired", shown(fault.port), expected, found});
  }
  answer.json["swaps"] = ordered_json::array();
  for (const repac::PlugSwap& swap : report.swaps) {
    answer.json["swaps"].push_back({{"first", swap.first}, {"second", swap.second}});
    answer.table.push_back({"swap", shown(swap.first), "with", shown(swap.second)});
  }
  const auto names = [&](const char* key, const char* kind, const std::vector<std::string>& ports) {
    answer.json[key] = ports;
    for (const std::string& port : ports) answer.table.push_back({kind, shown(port), "-", "-"});
  };
  names("unexplained", "no swap", report.unexplained);
  names("unknownPorts", "unknown", report.unknown_ports);
  names("contradictions", "contradiction", report.contradictions);
  if (ok) answer.table.push_back({"ok", StrCat(Count(report.checked, "cable"), " seen"), "-", "-"});
  return answer;
}

absl::StatusOr<Findings> Verify(const FabricInput& input, const std::string& text,
                                const std::string& name) {
  YM_ASSIGN_OR_RETURN(const std::vector<repac::Neighbour> neighbours,
                      config::ReadNeighbours(text, name));
  return ToAnswer(*input.network, repac::CheckWiring(*input.network, neighbours));
}

const char* NameOf(repac::TrustVerdict verdict) {
  static constexpr const char* kNames[] = {"unknown", "trusted", "mistrusted"};
  return kNames[static_cast<std::size_t>(verdict)];
}

absl::StatusOr<Findings> Trust(const FabricInput& input, const std::string& text,
                               const std::string& name) {
  YM_ASSIGN_OR_RETURN(const auto hashes, repac::SwitchHashes::Compile(*input.network));
  YM_ASSIGN_OR_RETURN(const std::vector<repac::ObservedPath> observed,
                      config::ReadObservedPaths(*input.network, text, name));
  const repac::ForwardingModel model(*input.network, hashes, input.down);
  Findings answer;
  bool ok = true;
  ordered_json roles = ordered_json::array();
  answer.table = {{"ROLE", "VERDICT", "CHECKED", "WRONG", "FOREIGN", "EXAMPLE"}};
  for (const repac::RoleTrust& trust : repac::CheckPredictions(model, observed)) {
    ok = ok && trust.verdict != repac::TrustVerdict::kMistrusted;
    roles.push_back({{"role", trust.role},
                     {"verdict", NameOf(trust.verdict)},
                     {"checked", trust.checked},
                     {"wrong", trust.wrong},
                     {"foreign", trust.foreign}});
    if (!trust.example.empty()) roles.back()["example"] = trust.example;
    answer.table.push_back({trust.role, NameOf(trust.verdict), StrCat(trust.checked),
                            StrCat(trust.wrong), StrCat(trust.foreign),
                            trust.example.empty() ? "-" : trust.example});
  }
  answer.json = {{"ok", ok}, {"paths", observed.size()}, {"roles", std::move(roles)}};
  return answer;
}

absl::StatusOr<Findings> AnswerTo(const VerifyFlags& flags, Finder answerer, std::istream& in,
                                  std::ostream& err) {
  YM_ASSIGN_OR_RETURN(const FabricInput input, ReadFabricInput(flags.fabric, flags.names, in));
  PrintWarnings(input.warnings, err);
  YM_ASSIGN_OR_RETURN(const std::string text, ReadInput(flags.seen, in));
  return answerer(input, text, InputName(flags.seen));
}

int Run(CLI::App& app, const char* example, const char* seen_flag, const char* seen_help,
        Finder answerer, const std::vector<std::string>& args, std::istream& in, std::ostream& out,
        std::ostream& err) {
  VerifyFlags flags;
  app.footer(StrCat("Example:\n  ", example, kExitCodes));
  app.add_option("--fabric,-f,--filename", flags.fabric, "a Fabric and its Nodes, YAML or JSON")
      ->required();
  app.add_option(seen_flag, flags.seen, seen_help)->required();
  DeclareNames(flags.names, app);
  app.add_option("-o,--output", flags.output, "output format")
      ->check(CLI::IsMember({"json", "table"}));
  if (const auto code = ParseFlags(app, args, out, err)) return *code;
  const absl::StatusOr<Findings> answer = AnswerTo(flags, answerer, in, err);
  if (!answer.ok()) return Fail(answer.status(), err);
  if (flags.output == "table") {
    PrintTable(answer->table, out);
  } else {
    out << answer->json.dump(2, ' ', false, ordered_json::error_handler_t::replace) << "\n";
  }
  return 0;
}

}  // namespace

int RunFabricVerifyCommand(const Args& args, std::istream& in, std::ostream& out,
                           std::ostream& err) {
  CLI::App app("Compares the cabling that ports report with the blueprint",
               "kubectl yardmaster fabric verify");
  return Run(
      app,
      "kubectl yardmaster fabric verify --fabric fabric.yaml --reports neighbours.json -o table",
      "--reports", "what ports see: {\"neighbours\": [{\"local\", \"remote\"}]}", Verify, args, in,
      out, err);
}

int RunFabricTrustCommand(const Args& args, std::istream& in, std::ostream& out,
                          std::ostream& err) {
  CLI::App app("Compares the paths that packets were seen to take with the predicted ones",
               "kubectl yardmaster fabric trust");
  return Run(
      app, "kubectl yardmaster fabric trust --fabric fabric.yaml --observed paths.json -o table",
      "--observed", "paths seen: {\"paths\": [{\"from\", \"to\", \"sourcePort\", \"links\"}]}",
      Trust, args, in, out, err);
}

}  // namespace yardmaster::cli
