#include "pkg/cli/flags.h"

#include <ostream>

#include "CLI/CLI.hpp"

namespace yardmaster::cli {

std::optional<int> ParseFlags(CLI::App& app, const std::vector<std::string>& args,
                              std::ostream& out, std::ostream& err) {
  try {
    app.parse(std::vector<std::string>(args.rbegin(), args.rend()));
  } catch (const CLI::CallForHelp&) {
    out << app.help();
    return 0;
  } catch (const CLI::ParseError& error) {
    err << app.get_name() << ": " << error.what() << "\nRun with --help for usage.\n";
    return 2;
  }
  return std::nullopt;
}

}  // namespace yardmaster::cli
