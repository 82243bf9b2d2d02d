// How a replay ended: recrash::Verdict. It lives among the installed headers because generated tests see it too.
#ifndef RECRASH_TESTGEN_REPLAY_VERDICT_H_
#define RECRASH_TESTGEN_REPLAY_VERDICT_H_

#include "recrash/verdict.h"

#endif  // RECRASH_TESTGEN_REPLAY_VERDICT_H_
