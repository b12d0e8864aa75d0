// Implements shell completion. `completion bash|zsh|fish` prints a script. The scripts, and
// kubectl's own completion of plugins, call the hidden verb `__complete WORDS...`.
//
//   source <(kubectl yardmaster completion bash)
//   kubectl yardmaster completion kubectl > ~/.local/bin/kubectl_complete-yardmaster; chmod +x ...
//
// Thread safety: pure functions.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace yardmaster::cli {

// Returns what --help of a verb prints. `verb`: its words.
using HelpOfVerb = std::function<std::string(const std::vector<std::string>& verb)>;

// Returns the candidates for the last word, one per line, then what kubectl expects: ":4" (no file
// names), ":6" (also no blank after it: the word continues), or ":0" (file names) after a flag that
// takes a file. `verbs`: their words. Flags and values are those of the verb's help.
std::string Complete(const std::vector<std::vector<std::string>>& verbs, const HelpOfVerb& help_of,
                     const std::vector<std::string>& words);

}  // namespace yardmaster::cli
