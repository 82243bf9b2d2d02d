// The way of the value as a picture: functions as boxes, what handed it on as arrows.
#ifndef RECRASH_INTEGRATIONS_PAGES_VALUE_GRAPH_H_
#define RECRASH_INTEGRATIONS_PAGES_VALUE_GRAPH_H_

#include <string>

#include "testgen/explain/explanation.h"

namespace recrash::pages {

// SVG for the inside of a page; each box leads to its step, #sN. Empty: fewer than two functions had the value.
std::string ValueGraph(const explain::Explanation& explanation);

}  // namespace recrash::pages

#endif  // RECRASH_INTEGRATIONS_PAGES_VALUE_GRAPH_H_
