#include "testgen/replay/guest/experiment.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "testgen/replay/guest/modules.h"
#include "testgen/replay/guest/raw.h"
#include "testgen/replay/guest/restore.h"
#include "testgen/replay/guest/world.h"

namespace recrash::replay {
namespace {

// Where the bytes of the call's registers lie; null: there is no such register.
uint8_t* RegisterByte(uint64_t address, CallState* state) {
  const uint64_t location = address / plan::kRegisterStride, offset = address % plan::kRegisterStride;
  if (location < 7 && offset < 8) return reinterpret_cast<uint8_t*>(&state->integer[location]) + offset;
  if (location >= 16 && location < 24) return &state->vector[location - 16][offset];
  return nullptr;
}

void FillRegisters(const plan::Piece& piece, const plan::Fill& fill, CallState* state) {
  for (uint64_t i = 0; i < piece.size; ++i) {
    if (uint8_t* byte = RegisterByte(piece.address + i, state)) *byte = plan::FillByte(fill, piece.address, i);
  }
}

// A byte of the fill is that of the recorded address: it does not depend on where a module lies now.
void FillMemory(uint64_t live, const plan::Piece& piece, uint64_t offset, uint64_t size, const plan::Fill& fill) {
  if (fill.kind == plan::Fill::kByte) {
    __asm__ volatile("rep stosb" : "+D"(live), "+c"(size) : "a"(fill.byte) : "memory");
    return;
  }
  auto* bytes = Pointer<volatile uint8_t>(live);
  for (uint64_t i = 0; i < size; ++i) bytes[i] = plan::FillByte(fill, piece.address, offset + i);
}

// What the agent in the program keeps read-only stays as it is.
void FillMemory(const plan::Piece& piece, const plan::Fill& fill) {
  const Range& sealed = world.restore.sealed;
  uint64_t live = ToLive(piece.address), size = piece.size;
  if (live < sealed.end && live + size > sealed.start) {
    const uint64_t before = live < sealed.start ? sealed.start - live : 0;
    FillMemory(live, piece, 0, before, fill);
    if (live + size <= sealed.end) return;
    const uint64_t skipped = sealed.end - live;
    FillMemory(sealed.end, piece, skipped, size - skipped, fill);
    return;
  }
  FillMemory(live, piece, 0, size, fill);
}

constexpr uint64_t kZeroBytes = 1 << 20;

// Memory that holds zeros, and that a replay may write to. A pointer may also lead to the middle of an object.
uint64_t MapZeros(Experiment* own) {
  if (!own->zeros) {
    void* zeros = mmap(nullptr, kZeroBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (zeros == MAP_FAILED) return 0;
    own->zeros = Number(zeros) + kZeroBytes / 2;
  }
  return own->zeros;
}

}  // namespace

void TakeExperiment(const plan::Slot& slot, PreparedCall* call) {
  Experiment& own = world.run.experiment;
  own.count = 0;
  call->experiment = nullptr;
  const plan::Queue* queue = world.run.queue;
  if (!queue || slot.pieces == 0) return;
  if (own.room < queue->room) {
    own.pieces = static_cast<plan::Piece*>(realloc(own.pieces, queue->room * sizeof *own.pieces));
    own.room = own.pieces ? queue->room : 0;
  }
  const size_t number = static_cast<size_t>(&slot - queue->slots);
  if (slot.pieces > own.room) return;
  const auto* posted = reinterpret_cast<const plan::Piece*>(reinterpret_cast<const char*>(queue) + queue->pieces);
  Copy(Number(own.pieces), Number(posted + number * queue->room), slot.pieces * sizeof *own.pieces);
  own.count = slot.pieces;
  own.fill = slot.fill;
  if (own.fill.kind == plan::Fill::kZeros) own.fill.seed = MapZeros(&own);
  call->experiment = &own;
}

void PutExperiment(PreparedCall* call) {
  if (!call->experiment) return;
  for (size_t i = 0; i < call->experiment->count; ++i) {
    const plan::Piece& piece = call->experiment->pieces[i];
    if (piece.address < plan::kEndOfRegisters) {
      FillRegisters(piece, call->experiment->fill, &call->state);
    } else {
      FillMemory(piece, call->experiment->fill);
    }
  }
}

}  // namespace recrash::replay
