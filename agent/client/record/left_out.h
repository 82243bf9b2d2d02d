// Lets tests leave out one mechanism of the recorder, to see that it is needed. Builds for users know nothing of it.
#ifndef RECRASH_AGENT_CLIENT_RECORD_LEFT_OUT_H_
#define RECRASH_AGENT_CLIENT_RECORD_LEFT_OUT_H_

namespace recrash::record {

#ifdef RECRASH_SNAPSHOT_TESTING
// Is it what RECRASH_SNAPSHOT_WITHOUT names?
bool LeftOut(const char* mechanism);
#else
constexpr bool LeftOut(const char*) { return false; }
#endif

}  // namespace recrash::record

#endif  // RECRASH_AGENT_CLIENT_RECORD_LEFT_OUT_H_
