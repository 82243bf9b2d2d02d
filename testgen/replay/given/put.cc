// Writes values into objects: in a replay's process once memory is restored, or into a copy of an argument. What runs
// here makes raw system calls only, the program's allocator aside.
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#include "agent/base/signal_safe/system_call.h"
#include "testgen/replay/given/values.h"

namespace recrash::replay {
namespace {

constexpr uint64_t kRoomInString = 15;        // of libstdc++, in the object itself
constexpr uint64_t kRoomInLibcxxString = 22;  // of libc++

uint64_t Number(const volatile void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

template <typename T>
T* Pointer(uint64_t address) {
  return reinterpret_cast<T*>(address);
}

// The subject's memcpy may be instrumented, replaced, or not bound yet.
void Copy(uint64_t to, uint64_t from, uint64_t size) {
  __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
}

constexpr char kNotThere[] = "it lies in memory that this report does not have, or that cannot be written";
constexpr char kNoBlock[] = "there is no memory for it";

uint64_t WordAt(uint64_t address) {
  uint64_t word = 0;
  Copy(Number(&word), address, sizeof word);
  return word;
}

void SetWord(uint64_t address, uint64_t word) { Copy(address, Number(&word), sizeof word); }

void Zero(uint64_t address, uint64_t size) {
  for (uint64_t i = 0; i < size; ++i) *Pointer<volatile uint8_t>(address + i) = 0;
}

// The kernel writes the set of blocked signals there. It fails where there is no memory, or none that can be written.
bool CanWriteWord(uint64_t address) {
  const auto kept = [&](uint64_t* word) {
    constexpr int kNoOperation = -1;  // refused after the set was read
    if (signal_safe::Call(SYS_rt_sigprocmask, kNoOperation, address, 0, sizeof *word) == -EFAULT) return false;
    *word = WordAt(address);
    return true;
  };
  uint64_t word = 0;
  if (!kept(&word)) return false;
  if (signal_safe::Call(SYS_rt_sigprocmask, 0, 0, address, sizeof word) != 0) return false;
  SetWord(address, word);
  return true;
}

// Words are whole inside a page if they are aligned.
bool CanWrite(uint64_t address, uint64_t size) {
  if (size > (1ull << 40) || address + size < address) return false;
  for (uint64_t at = address & ~(plan::kPageSize - 1); at < address + size; at += plan::kPageSize)
    if (!CanWriteWord(at < address ? address & ~7ull : at)) return false;
  return true;
}

class Writer {
 public:
  Writer(const PlanShapes& shapes, Allocator allocate) : shapes_(shapes), allocate_address_(allocate) {}

  const char* Put(const plan::ShapeMember& place, uint64_t object, const GivenValue& value) {
    const plan::Shape& shape = shapes_.At(place.shape);
    const uint64_t address = object + place.offset;
    if (value.kind == ValueKind::kAsRecorded) return nullptr;
    switch (shape.kind) {
      case ShapeKind::kInteger:
      case ShapeKind::kBool:
        PutInteger(place, shape, address, value);
        return nullptr;
      case ShapeKind::kReal:
        PutReal(shape, address, value);
        return nullptr;
      case ShapeKind::kCharacters:
        SetWord(address, value.kind == ValueKind::kNull ? 0 : Number(value.text));
        return nullptr;
      case ShapeKind::kView:
        SetWord(address + shape.offset, Number(value.text));
        SetWord(address + (shape.offset ? 0 : sizeof(uint64_t)), value.size);
        return nullptr;
      case ShapeKind::kString:
        return PutString(address, value);
      case ShapeKind::kLibcxxString:
        return PutLibcxxString(address, value);
      case ShapeKind::kVector:
        return PutVector(shape, address, value);
      case ShapeKind::kOptional:
        return PutOptional(shape, address, value);
      case ShapeKind::kArray:
        if (value.kind != ValueKind::kText) return PutItems(shape, address, value);
        Copy(address, Number(value.text), value.size);
        if (value.size < shape.count) *Pointer<char>(address + value.size) = 0;
        return nullptr;
      case ShapeKind::kClass: {
        const auto members = shapes_.Rows<plan::ShapeMember>(shape.members);
        for (size_t i = 0; i < members.count; ++i)
          if (const char* problem = Put(members[i], address, value.items[i])) return problem;
        return nullptr;
      }
      default:
        return "its type is not known";
    }
  }

 private:
  // Makes empty texts and containers of zeros.
  void Construct(const plan::Shape& shape, uint64_t address) {
    switch (shape.kind) {
      case ShapeKind::kString:
        SetWord(address, address + 2 * sizeof(uint64_t));
        break;
      case ShapeKind::kArray: {
        const plan::Shape& element = shapes_.At(shape.element);
        for (uint64_t i = 0; i < shape.count; ++i) Construct(element, address + i * element.size);
        break;
      }
      case ShapeKind::kClass:
        for (const plan::ShapeMember& member : shapes_.Rows<plan::ShapeMember>(shape.members))
          Construct(shapes_.At(member.shape), address + member.offset);
        break;
      default:
        break;
    }
  }

  void PutInteger(const plan::ShapeMember& place, const plan::Shape& shape, uint64_t address, const GivenValue& value) {
    uint64_t number = value.number;
    if (value.kind == ValueKind::kText) {
      for (const plan::Enumerator& enumerator : shapes_.Rows<plan::Enumerator>(shape.enumerators))
        if (strcmp(shapes_.Text(enumerator.name), value.text) == 0) number = static_cast<uint64_t>(enumerator.value);
    }
    if (place.bit_size == 0) return Copy(address, Number(&number), shape.size);
    // Bit after bit: the unit may reach beyond the object's end.
    for (uint32_t i = 0; i < place.bit_size; ++i) {
      const uint32_t bit = place.bit_offset + i;
      auto* byte = Pointer<uint8_t>(address + bit / 8);
      const auto mask = static_cast<uint8_t>(1u << bit % 8);
      *byte = static_cast<uint8_t>((*byte & ~mask) | (number >> i & 1 ? mask : 0));
    }
  }

  void PutReal(const plan::Shape& shape, uint64_t address, const GivenValue& value) {
    double real = value.real;
    if (value.kind != ValueKind::kReal)
      real = value.is_negative ? static_cast<double>(static_cast<int64_t>(value.number))
                               : static_cast<double>(value.number);
    const auto narrow = static_cast<float>(real);
    if (shape.size == sizeof narrow)
      Copy(address, Number(&narrow), sizeof narrow);
    else
      Copy(address, Number(&real), sizeof real);
  }

  // libstdc++: start, length, and the room, or the text itself where it is short.
  const char* PutString(uint64_t address, const GivenValue& value) {
    uint64_t start = WordAt(address);
    const uint64_t inside = address + 2 * sizeof(uint64_t);
    const uint64_t room = start == inside ? kRoomInString : WordAt(inside);
    if (value.size > room) {
      start = Allocate(value.size + 1);
      if (!start) return kNoBlock;
      SetWord(address, start);
      SetWord(inside, value.size);
    } else if (!CanWrite(start, value.size + 1)) {
      return kNotThere;
    }
    Copy(start, Number(value.text), value.size);
    *Pointer<char>(start + value.size) = 0;
    SetWord(address + sizeof(uint64_t), value.size);
    return nullptr;
  }

  const char* PutLibcxxString(uint64_t address, const GivenValue& value) {
    const bool has_block = *Pointer<uint8_t>(address) & 1;
    const uint64_t room = has_block ? (WordAt(address) & ~1ull) - 1 : kRoomInLibcxxString;
    uint64_t start = has_block ? WordAt(address + 16) : address + 1;
    if (value.size > room) {
      const uint64_t size = (value.size + 16) & ~15ull;
      start = Allocate(size);
      if (!start) return kNoBlock;
      SetWord(address, size | 1);
      SetWord(address + 16, start);
    } else if (!CanWrite(start, value.size + 1)) {
      return kNotThere;
    }
    if (has_block || value.size > room)
      SetWord(address + 8, value.size);
    else
      *Pointer<uint8_t>(address) = static_cast<uint8_t>(value.size << 1);
    Copy(start, Number(value.text), value.size);
    *Pointer<char>(start + value.size) = 0;
    return nullptr;
  }

  const char* PutVector(const plan::Shape& shape, uint64_t address, const GivenValue& value) {
    const plan::Shape& element = shapes_.At(shape.element);
    uint64_t start = WordAt(address), kept = (WordAt(address + 8) - start) / element.size;
    const uint64_t room = WordAt(address + 16) - start, needed = value.size * element.size;
    if (needed > room) {
      start = Allocate(needed);
      if (!start) return kNoBlock;
      SetWord(address, start);
      SetWord(address + 16, start + needed);
      kept = 0;
    } else if (needed && !CanWrite(start, needed)) {
      return kNotThere;
    }
    for (uint64_t i = 0; i < value.size; ++i) {
      const uint64_t at = start + i * element.size;
      if (i >= kept) {
        Zero(at, element.size);
        Construct(element, at);
      }
      if (const char* problem = Put(PlaceOf(shape.element), at, value.items[i])) return problem;
    }
    SetWord(address + 8, start + needed);
    return nullptr;
  }

  const char* PutItems(const plan::Shape& shape, uint64_t address, const GivenValue& value) {
    const uint64_t size = shapes_.At(shape.element).size;
    for (uint64_t i = 0; i < value.size; ++i)
      if (const char* problem = Put(PlaceOf(shape.element), address + i * size, value.items[i])) return problem;
    return nullptr;
  }

  const char* PutOptional(const plan::Shape& shape, uint64_t address, const GivenValue& value) {
    auto* is_there = Pointer<uint8_t>(address + shape.offset);
    if (value.kind == ValueKind::kNothing) {
      *is_there = 0;
      return nullptr;
    }
    if (!*is_there) {
      Zero(address, shapes_.At(shape.element).size);
      Construct(shapes_.At(shape.element), address);
      *is_there = 1;
    }
    return Put(PlaceOf(shape.element), address, value);
  }

  uint64_t Allocate(uint64_t size) const { return allocate_address_ ? Number(allocate_address_(size)) : 0; }

  const PlanShapes& shapes_;
  Allocator allocate_address_;
};

}  // namespace

const char* PutValue(const PlanShapes& shapes, uint64_t object, const plan::ShapeMember& place, const GivenValue& value,
                     Allocator allocate) {
  const uint64_t size = place.bit_size ? (place.bit_offset + place.bit_size + 7) / 8 : shapes.At(place.shape).size;
  if (!CanWrite(object + place.offset, size)) return kNotThere;
  return Writer(shapes, allocate).Put(place, object, value);
}

}  // namespace recrash::replay
