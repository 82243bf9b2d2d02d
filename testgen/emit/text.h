// Makes text of a report safe for C++ source. Names in a report may hold line ends, comment ends, and characters that
// turn the reading direction.
#ifndef RECRASH_TESTGEN_EMIT_TEXT_H_
#define RECRASH_TESTGEN_EMIT_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace recrash {

constexpr size_t kColumns = 120;  // of a generated file

// Returns text for one line of a C++ comment: printable, without comment marks and trigraphs, with no backslash at the
// end. Text longer than `limit` bytes (0: no limit) is cut and ends in "...".
std::string CommentText(std::string_view text, size_t limit = 200);

// Returns a C++ string literal of exactly these bytes.
std::string CppString(std::string_view bytes);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_EMIT_TEXT_H_
