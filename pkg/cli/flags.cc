#include "pkg/cli/flags.h"

#include <limits>
#include <ostream>

#include "CLI/CLI.hpp"
#include "pkg/api/field_reader.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"

namespace yardmaster::cli {

namespace {

// For a flag that the verb does not have: the one that was meant, as "; did you mean --x?", else
// "".
std::string MeantFlag(const CLI::App& app, const std::vector<std::string>& unknown) {
  for (const std::string& word : unknown) {
    if (!word.starts_with("--")) continue;
    std::vector<std::string> names;
    for (const CLI::Option* option : app.get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
    const std::string meant = api::Nearest(word.substr(0, word.find('=')), names);
    return meant.empty() ? "" : "; did you mean " + meant + "?";
  }
  return "";
}

// -o=json is -o json, as for kubectl.
std::vector<std::string> WithoutShortEquals(const CLI::App& app,
                                            const std::vector<std::string>& args) {
  std::vector<std::string> out;
  for (const std::string& arg : args) {
    const bool is_short = arg.size() > 3 && arg[0] == '-' && arg[1] != '-' && arg[2] == '=';
    const CLI::Option* option = is_short ? app.get_option_no_throw(arg.substr(0, 2)) : nullptr;
    if (option == nullptr || option->get_items_expected_min() == 0) {
      out.push_back(arg);
      continue;
    }
    out.push_back(arg.substr(0, 2));
    out.push_back(arg.substr(3));
  }
  return out;
}

}  // namespace

std::optional<int> ParseFlags(CLI::App& app, const std::vector<std::string>& args,
                              std::ostream& out, std::ostream& err) {
  for (CLI::Option* option : app.get_options()) {
    // --help shows the default, unless it is nothing or default_function({}) takes it away.
    const bool has_default = option->get_default_str().empty() && !option->get_required();
    if (has_default) option->capture_default_str();
    if (option->get_default_str() == "[]") option->default_str("");
  }
  try {
    const std::vector<std::string> words = WithoutShortEquals(app, args);
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::CallForHelp&) {
    out << app.help();
    return 0;
  } catch (const CLI::ExtrasError& error) {
    err << app.get_name() << ": " << error.what() << MeantFlag(app, app.remaining())
        << "\nRun with --help for usage.\n";
    return 2;
  } catch (const CLI::ParseError& error) {
    err << app.get_name() << ": " << error.what() << "\nRun with --help for usage.\n";
    return 2;
  }
  return std::nullopt;
}

int Fail(const absl::Status& status, std::ostream& err) {
  err << MessageOf(status) << "\n";
  return 1;
}

CLI::Validator NumberBetween(double low, double high) {
  return CLI::Validator(
      [low, high](const std::string& text) {
        const auto number = ParseNumber<double>(text);
        const bool good = number && *number >= low && *number <= high;
        return good ? std::string() : StrCat(text, " is not a number from ", low, " to ", high);
      },
      StrCat("FLOAT in [", low, " - ", high, "]"));
}

CLI::Validator PositiveNumber() {
  return CLI::Validator(
      [](const std::string& text) {
        const auto number = ParseNumber<double>(text);
        const bool good = number && *number > 0 && *number <= std::numeric_limits<double>::max();
        return good ? std::string() : StrCat(text, " is not a number above 0");
      },
      "POSITIVE");
}

void DeclareSeed(std::uint64_t& seed, CLI::App& app) {
  app.add_option("--seed", seed, "Random seed")
      ->check(CLI::Validator(
          [](const std::string& text) {
            return ParseNumber<std::uint64_t>(text)
                       ? std::string()
                       : StrCat(text, " is not a whole number from 0 to 2^64 - 1");
          },
          ""));
}

}  // namespace yardmaster::cli
