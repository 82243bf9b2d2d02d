// Another crash reporter in the same process: Breakpad as programs use it, in a library or in the program.
#ifndef RECRASH_AGENT_CLIENT_TESTDATA_BREAKPAD_H_
#define RECRASH_AGENT_CLIENT_TESTDATA_BREAKPAD_H_

// Its dumps go into the folder "dumps". `handles`: what its callback returns; Breakpad then resets the signal.
void InstallBreakpad(bool handles);

#endif  // RECRASH_AGENT_CLIENT_TESTDATA_BREAKPAD_H_
