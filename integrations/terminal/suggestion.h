// What was meant by a word that the command line does not know.
//
//   Nearest("reprodce", {"reproduce", "run"})  // "reproduce"
#ifndef RECRASH_INTEGRATIONS_TERMINAL_SUGGESTION_H_
#define RECRASH_INTEGRATIONS_TERMINAL_SUGGESTION_H_

#include <string>
#include <string_view>
#include <vector>

namespace recrash::cli {

// The known word that is fewest typing errors away: a letter left out, added, replaced, or two swapped. Empty if each
// takes more than one error in two or three letters, or if two are equally near.
std::string Nearest(std::string_view word, const std::vector<std::string>& known);

}  // namespace recrash::cli

#endif  // RECRASH_INTEGRATIONS_TERMINAL_SUGGESTION_H_
