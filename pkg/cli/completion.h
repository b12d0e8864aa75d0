// Shell completion: `completion bash|zsh|fish` prints a script; the scripts, and kubectl's own
// completion of plugins, call the hidden verb `__complete WORDS...`.
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

// What --help of a verb, given by its words, prints.
using HelpOfVerb = std::function<std::string(const std::vector<std::string>& verb)>;

// What may stand in place of the last word, one a line, then what kubectl expects: ":4" (no file
// names), ":6" (nor a blank after it: the word goes on), or ":0" (file names) after a flag that
// takes a file. `verbs`: their words. Flags and the values of flags and arguments are those of the
// verb's help.
std::string Complete(const std::vector<std::vector<std::string>>& verbs, const HelpOfVerb& help_of,
                     const std::vector<std::string>& words);

}  // namespace yardmaster::cli
