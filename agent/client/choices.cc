// What the program says about the memory that its reports may hold (recrash.h), and what follows for the raw report.
//
// The table of marked values has pages of its own, and its address is sealed. Its places are claimed without a lock, so
// that a signal handler may mark values too. If a value did not fit, or the program has overwritten the table, nobody
// knows what to mask: the report then has no memory.
#include <string.h>
#include <sys/mman.h>

#include "agent/base/signal_safe/left_out.h"
#include "agent/base/signal_safe/marked_place.h"
#include "agent/base/signal_safe/masking.h"
#include "agent/base/signal_safe/own_memory.h"
#include "agent/base/signal_safe/system_call.h"
#include "agent/client/client.h"

namespace recrash::client {

using abi::MarkedValue;
using abi::MarkedValues;
using signal_safe::Call;
using signal_safe::kMaskedWindow;
using signal_safe::Masker;
using signal_safe::ReadOwnAnyhow;

namespace {

RECRASH_SIGNAL_SAFE void* Map(uint64_t size) {
  const long at = Call(SYS_mmap, nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return at < 0 ? nullptr : reinterpret_cast<void*>(at);
}

// Claims a place, a free one before a new one. Null if there is none.
MarkedValue* Claim(MarkedValues& table, uint64_t address) {
  for (uint32_t i = 0; i < abi::kMostMarked; ++i) {
    uint64_t free = 0;
    if (!__atomic_compare_exchange_n(&table.values[i].address, &free, address, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
      continue;
    uint32_t count = __atomic_load_n(&table.count, __ATOMIC_RELAXED);
    while (count <= i &&
           !__atomic_compare_exchange_n(&table.count, &count, i + 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
    }
    return &table.values[i];
  }
  return nullptr;
}

void Mark(MarkedValues& table, uint64_t address, uint64_t size) {
  const uint64_t bytes = size & abi::kMarkedSize;
  const bool fits = bytes <= abi::kMostMarkedBytes &&
                    __atomic_add_fetch(&table.bytes, bytes, __ATOMIC_ACQ_REL) <= abi::kMostMarkedBytes;
  MarkedValue* const value = fits ? Claim(table, address) : nullptr;
  if (value != nullptr)
    __atomic_store_n(&value->size, size, __ATOMIC_RELEASE);
  else
    __atomic_store_n(&table.refused, 1, __ATOMIC_RELEASE);
}

void Unmark(MarkedValues& table, uint64_t address) {
  for (uint32_t i = 0; i < table.count && i < abi::kMostMarked; ++i) {
    MarkedValue& value = table.values[i];
    if (__atomic_load_n(&value.address, __ATOMIC_ACQUIRE) != address) continue;
    const uint64_t size = __atomic_exchange_n(&value.size, 0, __ATOMIC_ACQ_REL);
    __atomic_sub_fetch(&table.bytes, size & abi::kMarkedSize, __ATOMIC_ACQ_REL);
    __atomic_store_n(&value.address, 0, __ATOMIC_RELEASE);
    return;
  }
}

RECRASH_SIGNAL_SAFE MarkedValue PlaceNow(const MarkedValue& value) {
  return signal_safe::PlaceOf(
      value, [](uint64_t address, void* out, uint64_t size) { return ReadOwnAnyhow(address, out, size); });
}

// In pieces that share all but one byte of a window.
RECRASH_SIGNAL_SAFE void AddValue(const MarkedValue& value, Masker& masker) {
  static uint8_t piece[4096];
  for (uint64_t at = 0; at + kMaskedWindow <= value.size;) {
    const uint64_t left = value.size - at;
    const uint64_t got = ReadOwnAnyhow(value.address + at, piece, left < sizeof piece ? left : sizeof piece);
    if (got < kMaskedWindow) return;
    masker.Add(piece, got);
    at += got - kMaskedWindow + 1;
  }
}

}  // namespace

void MapMarkedValues() {
  g_state.marked = Fails("marked_table") ? nullptr : static_cast<MarkedValues*>(Map(sizeof(MarkedValues)));
}

bool HasMarkedValues() { return g_state.marked != nullptr && g_state.marked->count != 0; }

bool KnowsMarkedValues() {
  const MarkedValues* table = g_state.marked;
  if (table == nullptr) return g_progress.mark_lost == 0;
  if (table->refused != 0 || table->count > abi::kMostMarked) return false;
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < table->count; ++i) {
    const uint64_t size = PlaceNow(table->values[i]).size;
    if (size > abi::kMostMarkedBytes) return false;
    bytes += size;
  }
  return bytes <= abi::kMostMarkedBytes;
}

Discretion::Discretion() : slots_(nullptr), slot_count_(0) {
  if (!HasMarkedValues() || !KnowsMarkedValues()) return;
  const MarkedValues& table = *g_state.marked;
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < table.count; ++i) bytes += PlaceNow(table.values[i]).size;
  slot_count_ = Masker::SlotsFor(bytes);
  slots_ = Fails("mask") ? nullptr : static_cast<uint64_t*>(Map(slot_count_ * sizeof *slots_));
  if (slots_ == nullptr) {
    g_record.without_memory = abi::kCannotMask;
    return;
  }
  Call(SYS_madvise, slots_, slot_count_ * sizeof *slots_, MADV_DONTDUMP);  // it holds the values in parts
  Masker masker(slots_, slot_count_);
  for (uint32_t i = 0; i < table.count; ++i) AddValue(PlaceNow(table.values[i]), masker);
}

Discretion::~Discretion() {
  if (slots_ != nullptr) Call(SYS_munmap, slots_, slot_count_ * sizeof *slots_);
}

void Discretion::Mask(void* bytes, uint64_t size) const {
  if (slots_ != nullptr) Masker(slots_, slot_count_).Mask(static_cast<uint8_t*>(bytes), size);
}

void Discretion::MaskPlaces(uint64_t address, void* bytes, uint64_t size) const {
  for (uint32_t i = 0; slots_ != nullptr && i < g_state.marked->count; ++i) {
    const MarkedValue value = PlaceNow(g_state.marked->values[i]);
    const uint64_t from = value.address > address ? value.address : address;
    const uint64_t to = value.address + value.size < address + size ? value.address + value.size : address + size;
    if (from < to) memset(static_cast<char*>(bytes) + (from - address), signal_safe::kMask, to - from);
  }
}

}  // namespace recrash::client

// Where another client does the work, the choices are its to know.
extern "C" __attribute__((visibility("default"))) void __recrash_keep_memory(int keep) {
  using namespace recrash::client;
  if (g_state.other != nullptr) return g_state.other->keep_memory(keep);
  g_progress.keeps_memory = keep != 0 ? 1 : 0;
}

extern "C" __attribute__((visibility("default"))) void __recrash_mark(const void* value, size_t size) {
  using namespace recrash::client;
  if (g_state.other != nullptr) return g_state.other->mark(value, size);
  if (value == nullptr || size == 0) return;
  if (g_state.marked == nullptr)
    g_progress.mark_lost = 1;
  else
    Mark(*g_state.marked, reinterpret_cast<uint64_t>(value), size);
}

extern "C" __attribute__((visibility("default"))) void __recrash_unmark(const void* value) {
  using namespace recrash::client;
  if (g_state.other != nullptr) return g_state.other->unmark(value);
  if (value != nullptr && g_state.marked != nullptr) Unmark(*g_state.marked, reinterpret_cast<uint64_t>(value));
}
