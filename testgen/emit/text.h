// Text from a report, made safe for the C++ source that it goes to: names in it may hold line ends, comment ends and
// characters that turn the reading direction.
#ifndef RECRASH_TESTGEN_EMIT_TEXT_H_
#define RECRASH_TESTGEN_EMIT_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace recrash {

// For one line of a C++ comment: printable, no comment mark, no trigraph, no backslash at its end; cut to `limit`
// bytes (0: never) with "..." where something was left out.
std::string CommentText(std::string_view text, size_t limit = 200);

// A C++ string literal of exactly these bytes.
std::string CppString(std::string_view bytes);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_EMIT_TEXT_H_
