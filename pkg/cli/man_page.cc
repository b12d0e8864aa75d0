#include "pkg/cli/man_page.h"

#include "pkg/base/strings.h"

namespace yardmaster::cli {

namespace {

// A line of text: no character of it is a macro or an escape, and its dashes can be copied.
std::string Escaped(std::string_view line) {
  std::string out = line.starts_with('.') || line.starts_with('\'') ? "\\&" : "";
  for (const char c : line) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

std::string EscapedLines(std::string_view text) {
  std::string out;
  while (text.ends_with('\n')) text.remove_suffix(1);
  for (const std::string& line : Split(text, '\n')) out += Escaped(line) + "\n";
  return out;
}

constexpr char kEnd[] = R"(.SH EXIT STATUS
.TP
.B 0
The verb has answered.
.TP
.B 1
The input is wrong, or the cluster did not answer or has no such object.
.TP
.B 2
There is no such verb or flag.
.SH ENVIRONMENT
.TP
.B KUBECONFIG
Files that say how the cluster is reached, as for
.BR kubectl (1).
.SH SEE ALSO
.BR kubectl (1)
)";

}  // namespace

std::string ManPage(std::string_view version, const std::vector<ManVerb>& verbs) {
  std::string out = StrCat(
      ".TH KUBECTL\\-YARDMASTER 1 \"\" \"", Escaped(version), "\" \"Yardmaster\"\n", ".SH NAME\n",
      "kubectl\\-yardmaster \\- plans training jobs on the network of a Kubernetes cluster\n",
      ".SH SYNOPSIS\n", ".B kubectl yardmaster\n", ".I VERB\n", "[\\fIFLAGS\\fR]\n", ".SH VERBS\n");
  for (const ManVerb& verb : verbs) {
    out += StrCat(".TP\n.B ", Escaped(verb.words), "\n", Escaped(verb.summary), "\n");
  }
  out += ".SH FLAGS\n";
  for (const ManVerb& verb : verbs) {
    out += StrCat(".SS ", Escaped(verb.words), "\n.nf\n", EscapedLines(verb.help), ".fi\n");
  }
  return out + kEnd;
}

}  // namespace yardmaster::cli
