// Makes of a trail what a person wants to read: one link a line of the source.
#ifndef RECRASH_TESTGEN_EXPLAIN_CONDENSE_H_
#define RECRASH_TESTGEN_EXPLAIN_CONDENSE_H_

#include <vector>

#include "testgen/explain/explanation.h"

namespace recrash::explain {

// A value goes through several instructions of a line, and through the C++ library on behalf of it. Of links in a row
// at one line the one that says most stands for all; one that stood there before is not told again.
std::vector<Link> Condense(const std::vector<Link>& links);

}  // namespace recrash::explain

#endif  // RECRASH_TESTGEN_EXPLAIN_CONDENSE_H_
