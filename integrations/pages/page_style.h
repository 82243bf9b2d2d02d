// What each page has in common: how it looks, and what its keys do.
#ifndef RECRASH_INTEGRATIONS_PAGES_PAGE_STYLE_H_
#define RECRASH_INTEGRATIONS_PAGES_PAGE_STYLE_H_

#include <string>

namespace recrash::pages {

extern const char* const kPageStyle;
extern const char* const kPageScript;

// The head of a page, with the style. Its policy lets a browser load nothing, and run and apply nothing but these two.
std::string PageHead(const std::string& title);

}  // namespace recrash::pages

#endif  // RECRASH_INTEGRATIONS_PAGES_PAGE_STYLE_H_
