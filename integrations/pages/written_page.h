// A result for people, in a file of their choice.
#ifndef RECRASH_INTEGRATIONS_PAGES_WRITTEN_PAGE_H_
#define RECRASH_INTEGRATIONS_PAGES_WRITTEN_PAGE_H_

#include <string>

#include "agent/base/result.h"

namespace recrash::pages {

// Takes the place of a file of that name once all of it is written, and only then; only its owner can read it, as a
// report. "-": to standard output. Nothing for "". `what` is for messages: "page".
// kRefused: it cannot be written there, or something else than a file has the name.
Status WriteWhole(const std::string& text, const std::string& path, const std::string& what);

}  // namespace recrash::pages

#endif  // RECRASH_INTEGRATIONS_PAGES_WRITTEN_PAGE_H_
