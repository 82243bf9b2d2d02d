// Text of reports, sources and debug information, on its way into markup.
//
//   page += "<p>" + Escaped(link.text) + "</p>";
//   page += "<a title=\"" + Escaped(link.file) + "\">";
#ifndef RECRASH_INTEGRATIONS_PAGES_MARKUP_H_
#define RECRASH_INTEGRATIONS_PAGES_MARKUP_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace recrash::pages {

// For the inside of elements and of quoted attributes. Harmful and invalid characters are shown as PrintableText shows
// them.
std::string Escaped(std::string_view text);

// At most so many characters of it, "…" among them; characters are code points.
std::string Shortened(std::string_view text, size_t most);

// A line of a source: tabs become blanks, the rest is as it was.
std::string WithoutTabs(std::string_view line);

// One word for a POSIX shell, that can be shown and copied. Harmful characters make it a $'…' of bash.
std::string ShellWord(const std::string& word);

// How a policy names a style or a script: "sha256-…".
std::string PolicyHash(std::string_view text);

}  // namespace recrash::pages

#endif  // RECRASH_INTEGRATIONS_PAGES_MARKUP_H_
