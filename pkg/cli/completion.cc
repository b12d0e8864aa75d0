#include "pkg/cli/completion.h"

#include <algorithm>
#include <cctype>
#include <ostream>
#include <set>

#include "CLI/CLI.hpp"
#include "pkg/base/strings.h"
#include "pkg/cli/commands.h"
#include "pkg/cli/flags.h"

namespace yardmaster::cli {

namespace {

constexpr char kBash[] = R"(# bash completion for kubectl-yardmaster; source it
_kubectl_yardmaster() {
  local words=("${COMP_WORDS[@]:1:COMP_CWORD}") line
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      :0)
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "${words[-1]}")
        ;;
      :6) compopt -o nospace 2>/dev/null ;;
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
      :6) compadd -S '' -- "${answers[@]}" ;;
      :*) compadd -- "${answers[@]}" ;;
      *) answers+=("$line") ;;
    esac
  done < <(kubectl-yardmaster __complete "${(@)words[2,CURRENT]}" 2>/dev/null)
}
compdef _kubectl_yardmaster kubectl-yardmaster
)";

constexpr char kFish[] = R"(# fish completion for kubectl-yardmaster
function __kubectl_yardmaster
  set -l words (commandline -opc) (commandline -ct)
  set -l answers (kubectl-yardmaster __complete $words[2..-1] 2>/dev/null)
  if contains -- :0 $answers
    __fish_complete_path (commandline -ct)
  else
    string match -v -- ':*' $answers
  end
end
complete -c kubectl-yardmaster -f -a '(__kubectl_yardmaster)'
)";

// kubectl runs a program of this name for the completion of the plugin.
constexpr char kKubectl[] = R"(#!/bin/sh
exec kubectl-yardmaster __complete "$@"
)";

// The script for a shell, or for kubectl.
const char* ScriptFor(std::string_view shell) {
  if (shell == "bash") return kBash;
  if (shell == "zsh") return kZsh;
  return shell == "fish" ? kFish : kKubectl;
}

// What the help of a verb says of one flag, or of an argument.
struct Entry {
  std::vector<std::string> names;  // of a flag, with dashes
  bool takes_value = false;
  std::vector<std::string> values;  // that it may have; empty: others
};

// A line as CLI11 prints it: "  -o,--output TEXT:{json,yaml}=json  meaning".
Entry EntryOf(const std::string& line) {
  Entry entry;
  const std::size_t begin = line.find_first_not_of(' ');
  const std::size_t end = line.find(' ', begin);
  entry.names = Split(line.substr(begin, end - begin), ',');
  if (end == std::string::npos || line.compare(end, 2, "  ") == 0) return entry;
  const std::string type = line.substr(end + 1, line.find(' ', end + 1) - end - 1);
  // TEXT or INT; "Excludes:" and "Needs:" stand there, too.
  entry.takes_value = type.size() > 1 && std::isupper(static_cast<unsigned char>(type[1])) != 0;
  const std::size_t open = type.find(":{");
  if (open != std::string::npos) {
    entry.values = Split(type.substr(open + 2, type.find('}', open) - open - 2), ',');
  }
  return entry;
}

// Lines of a help text that begin an entry: those of flags begin with a dash.
std::vector<Entry> EntriesOf(const std::string& help, bool flags) {
  std::vector<Entry> entries;
  bool inside = false;
  for (const std::string& line : Split(help, '\n')) {
    if (!line.starts_with("  ")) inside = line == (flags ? "Options:" : "Positionals:");
    if (inside && line.starts_with("  ") && line.size() > 2 && line[2] != ' ') {
      entries.push_back(EntryOf(line));
    }
  }
  return entries;
}

bool TakesAFile(const std::vector<std::string>& verb, const std::string& flag) {
  static const std::set<std::string> flags = {"-f",      "--filename", "--kubeconfig", "--fabric",
                                              "--trace", "--reports",  "--observed"};
  return flags.count(flag) != 0 || (flag == "--to" && Join(verb, " ") == "support-bundle");
}

// Values that a help text describes in words.
std::set<std::string> ValuesInWords(const std::string& verb, const std::string& before) {
  if (verb == "get" && (before == "-o" || before == "--output")) {
    return {"json", "jsonpath=", "name", "wide", "yaml"};
  }
  if (verb == "explain" && before.empty()) return {"node/", "pod/"};
  return {};
}

// The longest verb that the words begin with.
std::vector<std::string> VerbOf(const std::vector<std::vector<std::string>>& verbs,
                                const std::vector<std::string>& words) {
  std::vector<std::string> best;
  for (const auto& verb : verbs) {
    const bool fits =
        verb.size() < words.size() && std::equal(verb.begin(), verb.end(), words.begin());
    if (fits && verb.size() > best.size()) best = verb;
  }
  return best;
}

// The next word of every verb that goes on like this.
std::set<std::string> NextWords(const std::vector<std::vector<std::string>>& verbs,
                                const std::vector<std::string>& words) {
  std::set<std::string> answers;
  const std::size_t given = words.empty() ? 0 : words.size() - 1;
  for (const auto& verb : verbs) {
    if (verb.size() > given &&
        std::equal(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(given),
                   verb.begin())) {
      answers.insert(verb[given]);
    }
  }
  return answers;
}

// Flags, or values of the flag or argument at the last word.
std::set<std::string> WordsOf(const std::string& verb, const std::string& help,
                              const std::string& before, const std::string& last) {
  const std::vector<Entry> flags = EntriesOf(help, true);
  for (const Entry& flag : flags) {
    const bool named = std::find(flag.names.begin(), flag.names.end(), before) != flag.names.end();
    if (!named || !flag.takes_value) continue;
    std::set<std::string> values(flag.values.begin(), flag.values.end());
    values.merge(ValuesInWords(verb, before));
    return values;
  }
  std::set<std::string> answers = ValuesInWords(verb, "");
  if (last.starts_with("-")) {
    for (const Entry& flag : flags) answers.insert(flag.names.begin(), flag.names.end());
  }
  for (const Entry& argument : EntriesOf(help, false)) {
    answers.insert(argument.values.begin(), argument.values.end());
  }
  return answers;
}

}  // namespace

std::string Complete(const std::vector<std::vector<std::string>>& verbs, const HelpOfVerb& help_of,
                     const std::vector<std::string>& words) {
  const std::string last = words.empty() ? "" : words.back();
  const std::string before = words.size() < 2 ? "" : words[words.size() - 2];
  const std::vector<std::string> verb = VerbOf(verbs, words);
  if (TakesAFile(verb, before)) return ":0\n";
  const std::set<std::string> candidates =
      verb.empty() ? NextWords(verbs, words)
                   : WordsOf(Join(verb, " "), help_of(verb), before, last);
  std::string out;
  bool all_go_on = true;
  for (const std::string& answer : candidates) {
    if (!answer.starts_with(last)) continue;
    out += answer + "\n";
    all_go_on = all_go_on && (answer.ends_with("=") || answer.ends_with("/"));
  }
  return out + (!out.empty() && all_go_on ? ":6\n" : ":4\n");
}

int RunCompletionCommand(const Args& args, std::istream& /*in*/, std::ostream& out,
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
  out << ScriptFor(shell);
  return 0;
}

}  // namespace yardmaster::cli
