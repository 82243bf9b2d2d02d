#include "testgen/replay/guest/rewind.h"

#include "testgen/replay/guest/handler.h"
#include "testgen/replay/guest/raw.h"
#include "testgen/replay/guest/runtime.h"
#include "testgen/replay/guest/world.h"

namespace recrash::replay {
namespace {

constexpr uint32_t kIstream = 1;
constexpr uint32_t kFile = 2;
// Room between this code's frames and those of what it calls: more than recrash_call takes.
constexpr uint64_t kStackDistance = 4096;

// Itanium C++ ABI: the offset of the first virtual base stands three words before what a vtable pointer points to. The
// virtual base of a std::istream is its std::ios.
constexpr uint64_t kVirtualBaseSlot = 24;

constexpr int kGoodBit = 0;
constexpr int kFromBeginning = 0;  // std::ios::beg

// The end-of-file mark first: a stream in a failed state does not seek.
void RewindIstream(const StreamPlace* stream) {
  const uint64_t vtable = *Pointer<uint64_t>(stream->address);
  world.streams.clear(stream->address + *Pointer<uint64_t>(vtable - kVirtualBaseSlot), kGoodBit);
  world.streams.seek_from(stream->address, 0, kFromBeginning);
}

void Rewind(const StreamPlace* stream) {
  if (stream->kind == kIstream) {
    RewindIstream(stream);
  } else {
    world.streams.rewind_file(stream->address);
  }
}

}  // namespace

void FindStreamFunctions() {
  world.streams.clear = reinterpret_cast<decltype(StreamFunctions::clear)>(
      FindInRuntime("_ZNSt9basic_iosIcSt11char_traitsIcEE5clearESt12_Ios_Iostate"));
  world.streams.seek_from =
      reinterpret_cast<decltype(StreamFunctions::seek_from)>(FindInRuntime("_ZNSi5seekgElSt12_Ios_Seekdir"));
  world.streams.rewind_file = reinterpret_cast<decltype(StreamFunctions::rewind_file)>(FindInRuntime("rewind"));
}

bool CanRewind(uint32_t kind) {
  if (kind == kIstream) return world.streams.clear && world.streams.seek_from;
  return kind == kFile && world.streams.rewind_file;
}

// By recrash_call, since the stream may be anything: a handler leaves it in process, and an exception (a stream may be
// set to throw) ends there in std::terminate.
bool RewindStreams(const StreamPlace* streams, int count, const CallState& call) {
  for (int i = 0; i < count; ++i) {
    CallState state = call;
    state.integer[0] = Number(&streams[i]);
    state.function = reinterpret_cast<uint64_t>(&Rewind);
    state.sp = (Number(&state) - kStackDistance) & ~uint64_t{15};
    NoteRewinding(true);
    recrash_call(&state);
    if (HasEnded()) return false;
    NoteRewinding(false);
  }
  return true;
}

}  // namespace recrash::replay
