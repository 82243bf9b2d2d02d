// The regular files that a program was given: what its command line names, and what it has open.
#ifndef RECRASH_AGENT_COLLECTOR_INPUTS_H_
#define RECRASH_AGENT_COLLECTOR_INPUTS_H_

#include <string>
#include <vector>

#include "agent/report/report.h"

namespace recrash {

// The parts of a command line's word that may be a file's name: the word itself, and what follows `=` in it.
std::vector<std::string> NamesIn(const std::string& word);

// Finds the inputs named by report->process and report->files, sets `input` of these files, and hashes the inputs. With
// `embed`, keeps the contents that fit. The program, its modules, and files in /proc, /dev and /sys are not inputs.
// What the program has `attached` (absolute paths) is an input as well, and kept in any case. What is lost goes into
// the report's losses.
void ReadInputs(bool embed, const std::vector<std::string>& attached, Report* report);

}  // namespace recrash

#endif  // RECRASH_AGENT_COLLECTOR_INPUTS_H_
