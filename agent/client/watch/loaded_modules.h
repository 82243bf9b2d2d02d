// Lists the ELF files of this process with what patching needs: where their code lies, their build-ids, where their
// functions begin, and the files.
//
// Normal context: start-up, or a call of the program's. OpenFile and CloseFile go by system_call.h alone.
#ifndef RECRASH_AGENT_CLIENT_WATCH_LOADED_MODULES_H_
#define RECRASH_AGENT_CLIENT_WATCH_LOADED_MODULES_H_

#include <stddef.h>
#include <stdint.h>

#include <string_view>

#include "agent/client/watch/text_writer.h"
#include "shadowstack/frame_table.h"

namespace recrash::watch {

constexpr size_t kMostModules = 512;
constexpr size_t kMostCodeSegments = 4;

struct LoadedModule {
  const char* path = nullptr;  // "/proc/self/exe" for the program
  uint64_t bias = 0;
  uint64_t begin = 0;  // of its first segment
  uint64_t end = 0;
  const uint8_t* build_id = nullptr;  // in memory; null when it has none
  size_t build_id_size = 0;
  uint64_t build_id_file_offset = 0;
  bool instrumented = false;  // it has the note of the pass
  bool adaptive = false;      // the note asks to watch all entries
  const uint8_t* frame_table = nullptr;
  size_t frame_table_size = 0;
  CodeSegment code[kMostCodeSegments];
  size_t code_count = 0;

  bool HasBuildId(std::string_view hex) const;
  const CodeSegment* SegmentOf(uint64_t address, size_t size) const;
  abi::FrameTable functions() const {
    return abi::FrameTable(frame_table, frame_table_size, reinterpret_cast<uint64_t>(frame_table));
  }
};

// Fills `modules`, and returns how many there are; those beyond `room` are left out.
size_t ListModules(LoadedModule* modules, size_t room);

// Was the program itself built with -recrash-mode=adaptive?
bool ProgramIsAdaptive();

// Opens the module's file for its segments. Returns false if it is not the file that is mapped.
bool OpenFile(LoadedModule* module);
void CloseFile(LoadedModule* module);

}  // namespace recrash::watch

#endif  // RECRASH_AGENT_CLIENT_WATCH_LOADED_MODULES_H_
