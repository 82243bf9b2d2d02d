// The regular files that a program was given: what its command line names, and what it has open.
#ifndef RECRASH_AGENT_COLLECTOR_INPUTS_H_
#define RECRASH_AGENT_COLLECTOR_INPUTS_H_

#include <string>
#include <vector>

#include "agent/report/report.h"

namespace recrash {

// What may be a file's name in a word of the command line: the word, and what stands behind `=` in it.
std::vector<std::string> NamesIn(const std::string& word);

// Finds the inputs of report->process and report->files (whose `input` it sets), reads those that fit when `embed`, and
// hashes them. The program, its modules, and what lies in /proc, /dev and /sys are none. Losses are said in the report.
void ReadInputs(bool embed, Report* report);

}  // namespace recrash

#endif  // RECRASH_AGENT_COLLECTOR_INPUTS_H_
