// For tests: an invented heap of glibc's, and memory beside it.
//
//   TestingHeap heap;
//   const uint64_t order = heap.Allocate(16);
//   heap.Put(order, uint32_t{7});
#ifndef RECRASH_TESTGEN_CARRY_TESTING_HEAP_H_
#define RECRASH_TESTGEN_CARRY_TESTING_HEAP_H_

#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <vector>

#include "testgen/carry/recorded_heap.h"

namespace recrash {

class TestingHeap {
 public:
  static constexpr uint64_t kStart = 0x10000000;
  static constexpr uint64_t kSize = 0x10000;
  static constexpr uint64_t kStack = 0x7ffe0000;
  static constexpr uint64_t kStackSize = 0x1000;

  TestingHeap() : heap_(kSize), stack_(kStackSize) {
    cache_ = Allocate(0x280);
    SetTop();
  }

  uint64_t Allocate(uint64_t size) {
    const uint64_t chunk = next_, whole = UsableSize(size) + 8;
    Put(chunk + 8, whole | 1);
    next_ += whole;
    SetTop();
    return chunk + 16;
  }
  // Into the cache, the list of number 0.
  void Free(uint64_t address) {
    Put(address, Word(cache_ + 128) ^ address >> 12);
    Put(cache_ + 128, address);
  }
  template <typename T>
  void Put(uint64_t address, const T& value) {
    std::memcpy(At(address), &value, sizeof value);
  }
  uint64_t Word(uint64_t address) {
    uint64_t word;
    std::memcpy(&word, At(address), sizeof word);
    return word;
  }
  bool Read(uint64_t address, std::span<uint8_t> out) {
    const bool in_heap = address >= kStart && address + out.size() <= kStart + kSize;
    const bool in_stack = address >= kStack && address + out.size() <= kStack + kStackSize;
    if (!in_heap && !in_stack) return false;
    std::memcpy(out.data(), At(address), out.size());
    return true;
  }
  uint64_t end() const { return kStart + kSize; }

 private:
  uint8_t* At(uint64_t address) { return address >= kStack ? &stack_[address - kStack] : &heap_[address - kStart]; }
  void SetTop() { Put(next_ + 8, (kStart + kSize - next_) | 1); }

  std::vector<uint8_t> heap_, stack_;
  uint64_t next_ = kStart, cache_ = 0;
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_CARRY_TESTING_HEAP_H_
