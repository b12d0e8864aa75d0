#include <CLI/CLI.hpp>
#include <cmath>

#include "pkg/app/runtime.h"
#include "pkg/base/strings.h"

namespace yardmaster::app {

void AddCommonFlags(CLI::App& app, CommonOptions& options) {
  app.add_option("--kubeconfig", options.kubeconfig,
                 "kubeconfig file; default $KUBECONFIG, then in-cluster, then ~/.kube/config");
  app.add_option("--context", options.context, "context of the kubeconfig");
  app.add_option("--metrics-bind-address", options.metrics_address, "host:port of /metrics");
  app.add_option("--health-bind-address", options.health_address,
                 "host:port of /healthz and /readyz");
  app.add_option("--log-format", options.log_format, "json or text")
      ->check(CLI::IsMember({"json", "text"}));
  app.add_option("-v,--verbosity", options.verbosity, "0 and 1 warnings, 2 and more changes");
  app.add_option("--kube-api-qps", options.kube_api_qps, "calls a second to the API server");
  app.add_option("--kube-api-burst", options.kube_api_burst, "burst of calls to the API server");
}

void AddModeFlag(CLI::App& app, CommonOptions& options) {
  app.add_option_function<std::string>(
         "--mode", [&options](const std::string& mode) { options.observes = mode == "Observe"; },
         "Enforce, or Observe: say what would be done, do nothing, and write no object")
      ->check(CLI::IsMember({"Enforce", "Observe"}))
      ->default_str("Enforce");
}

void AddLeaderFlags(CLI::App& app, LeaderOptions& options) {
  app.add_flag("--leader-elect,!--no-leader-elect", options.enabled,
               "hold a Lease while writing; needed with more than one replica");
  app.add_option("--leader-elect-resource-namespace", options.resource_namespace,
                 "namespace of the Lease");
  app.add_option("--leader-elect-resource-name", options.resource_name, "name of the Lease");
}

void FinishFlags(CLI::App& app) {
  const auto check = [](const std::string& text) {
    const auto number = ParseNumber<double>(text);
    return number && std::isnan(*number) ? StrCat(text, " is not a number") : std::string();
  };
  for (CLI::Option* option : app.get_options()) {
    // --help shows the default, unless it is nothing or default_function({}) takes it away.
    const bool has_default = option->get_default_str().empty() && !option->get_required();
    if (has_default) option->capture_default_str();
    if (option->get_default_str() == "[]") option->default_str("");
    if (option->get_type_name().find("FLOAT") != std::string::npos) option->check(check);
    if (option->get_items_expected_max() <= 1) {
      option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    }
  }
}

}  // namespace yardmaster::app
