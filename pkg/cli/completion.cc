#include "pkg/cli/completion.h"

#include <algorithm>
#include <map>
#include <ostream>
#include <set>

#include "CLI/CLI.hpp"
#include "pkg/base/strings.h"
#include "pkg/cli/flags.h"

namespace yardmaster::cli {

namespace {

constexpr char kBash[] = R"(# bash completion for kubectl-yardmaster; source it
_kubectl_yardmaster() {
  local words=("${COMP_WORDS[@]:1:COMP_CWORD}") line
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      :0) COMPREPLY+=($(compgen -f -- "${words[-1]}")) ;;
      :*) ;;
      *) COMPREPLY+=("$line") ;;
    esac
  done < <(kubectl-yardmaster __complete "${words[@]}" 2>/dev/null)
}
complete -F _kubectl_yardmaster kubectl-yardmaster
)";

constexpr char kZsh[] = R"(#compdef kubectl-yardmaster
_kubectl_yardmaster() {
  local -a answers
  local line
  while IFS= read -r line; do
    case $line in
      :0) _files ;;
      :*) ;;
      *) answers+=("$line") ;;
    esac
  done < <(kubectl-yardmaster __complete "${(@)words[2,CURRENT]}" 2>/dev/null)
  compadd -- "${answers[@]}"
}
compdef _kubectl_yardmaster kubectl-yardmaster
)";

constexpr char kFish[] = R"(# fish completion for kubectl-yardmaster
function __kubectl_yardmaster
  set -l words (commandline -opc) (commandline -ct)
  kubectl-yardmaster __complete $words[2..-1] 2>/dev/null | string match -v ':*'
end
complete -c kubectl-yardmaster -f -a '(__kubectl_yardmaster)'
)";

// kubectl runs a program of this name for the completion of the plugin.
constexpr char kKubectl[] = R"(#!/bin/sh
exec kubectl-yardmaster __complete "$@"
)";

const std::map<std::string, std::vector<std::string>>& ValuesOfFlags() {
  static const std::map<std::string, std::vector<std::string>> values = {
      {"-o", {"json", "yaml", "wide", "name", "table", "jsonpath="}},
      {"--output", {"json", "yaml", "wide", "name", "table", "jsonpath="}},
      {"--policy",
       {"crux", "published", "ecmp", "sincronia", "varys", "taccl", "cassini", "exact"}},
  };
  return values;
}

const std::map<std::string, std::vector<std::string>>& WordsAfterVerbs() {
  static const std::map<std::string, std::vector<std::string>> words = {
      {"get", {"jobs", "segments", "hosts"}},
      {"top", {"jobs", "segments", "links"}},
      {"explain", {"node/", "pod/"}},
      {"completion", {"bash", "zsh", "fish", "kubectl"}},
  };
  return words;
}

bool TakesAFile(const std::string& flag) {
  static const std::set<std::string> flags = {"-f", "--filename", "--kubeconfig", "--fabric",
                                              "--trace"};
  return flags.count(flag) != 0;
}

// The longest verb that the words begin with, joined by spaces.
std::string VerbOf(const std::vector<std::vector<std::string>>& verbs,
                   const std::vector<std::string>& words) {
  std::vector<std::string> best;
  for (const auto& verb : verbs) {
    const bool fits =
        verb.size() < words.size() && std::equal(verb.begin(), verb.end(), words.begin());
    if (fits && verb.size() > best.size()) best = verb;
  }
  return Join(best, " ");
}

}  // namespace

std::string Complete(const std::vector<std::vector<std::string>>& verbs,
                     const std::vector<std::string>& words) {
  const std::string last = words.empty() ? "" : words.back();
  const std::string before = words.size() < 2 ? "" : words[words.size() - 2];
  if (TakesAFile(before)) return ":0\n";
  std::set<std::string> answers;
  if (const auto values = ValuesOfFlags().find(before); values != ValuesOfFlags().end()) {
    answers.insert(values->second.begin(), values->second.end());
  } else {
    // The next word of every verb that goes on like this.
    for (const auto& verb : verbs) {
      const std::size_t given = words.empty() ? 0 : words.size() - 1;
      if (verb.size() > given &&
          std::equal(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(given),
                     verb.begin())) {
        answers.insert(verb[given]);
      }
    }
    const auto after = WordsAfterVerbs().find(VerbOf(verbs, words));
    if (after != WordsAfterVerbs().end())
      answers.insert(after->second.begin(), after->second.end());
  }
  std::string out;
  for (const std::string& answer : answers) {
    if (answer.starts_with(last)) out += answer + "\n";
  }
  return out + ":4\n";
}

int RunCompletionCommand(const std::vector<std::string>& args, std::ostream& out,
                         std::ostream& err) {
  std::string shell;
  CLI::App app("Prints a completion script", "kubectl yardmaster completion");
  app.add_option("shell", shell, "bash, zsh, fish, or kubectl for its completion of plugins")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish", "kubectl"}));
  app.footer(
      "Examples:\n"
      "  source <(kubectl yardmaster completion bash)\n"
      "  kubectl yardmaster completion fish > ~/.config/fish/completions/kubectl-yardmaster.fish\n"
      "  kubectl yardmaster completion kubectl > ~/.local/bin/kubectl_complete-yardmaster");
  if (const std::optional<int> code = ParseFlags(app, args, out, err)) return *code;
  out << (shell == "bash" ? kBash : shell == "zsh" ? kZsh : shell == "fish" ? kFish : kKubectl);
  return 0;
}

}  // namespace yardmaster::cli
