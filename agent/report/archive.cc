// Archive classes on Boost.Serialization's archive interface, and what they make of the report's types.
//
// Why not Boost's own: the binary archive's widths and byte order are the machine's, and every stock archive allocates
// what a hostile count says before it looks at what is left. Here integers are little-endian at their own width, bool
// is one byte, strings and lists are a 32-bit count with what follows, and a count is accepted only if that many of the
// smallest encodings of its element still fit into the bytes that are left. All types are `object_serializable` and
// never tracked, so that Boost writes no class information and a stream is the fields in order, as FORMAT.md lists
// them.
#include "agent/report/archive.h"

#include <algorithm>
#include <bit>
#include <boost/archive/archive_exception.hpp>
#include <boost/archive/detail/common_iarchive.hpp>
#include <boost/archive/detail/common_oarchive.hpp>
#include <boost/serialization/level.hpp>
#include <boost/serialization/serialization.hpp>
#include <boost/serialization/tracking.hpp>
#include <cstring>
#include <exception>
#include <string>
#include <type_traits>

#include "agent/report/fields.h"
#include "agent/report/format.h"

// Structs are plain fields: nothing of Boost's (class ids, versions, object identities) goes into the stream.
namespace boost::serialization {

template <recrash::HasFields T>
struct implementation_level_impl<const T> {
  using tag = mpl::integral_c_tag;
  using type = mpl::int_<object_serializable>;
  static constexpr int value = object_serializable;
};

template <recrash::HasFields T>
struct tracking_level<T> {
  using tag = mpl::integral_c_tag;
  using type = mpl::int_<track_never>;
  static constexpr int value = track_never;
};

}  // namespace boost::serialization

namespace recrash {
namespace {

namespace archive = boost::archive;

// Thrown through Boost's templates, caught in this file.
class Malformed : public std::exception {
 public:
  explicit Malformed(std::string message) : message_(std::move(message)) {}
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  std::string message_;
};

template <typename T>
concept IsOptional = requires(T& value) { value.has_value(); };
template <typename T>
concept IsVector = requires(T& value) { value.resize(0); };
template <typename T>
concept IsArray = !IsVector<T> && requires(T& value) { std::begin(value); };

class OutArchive : public archive::detail::common_oarchive<OutArchive> {
 public:
  OutArchive(std::vector<uint8_t>* out, uint32_t version) : out_(out), version_(version) {}

  uint32_t version() const { return version_; }
  StateList states = StateList::kOfTests;

  template <typename T>
  void save_override(const T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      Number<uint8_t>(value);
    } else if constexpr (std::is_enum_v<T>) {
      Number(static_cast<std::underlying_type_t<T>>(value));
    } else if constexpr (std::is_arithmetic_v<T>) {
      Number(value);
    } else if constexpr (std::is_same_v<T, std::string>) {
      Count(value.size(), format::kMaxString, "string");
      save_binary(value.data(), value.size());
    } else if constexpr (std::is_same_v<T, std::vector<uint8_t>>) {
      Count(value.size(), format::kMaxBytes, "byte array");
      save_binary(value.data(), value.size());
    } else if constexpr (IsVector<T>) {
      Count(value.size(), format::kMaxCount, "list");
      for (const auto& element : value) *this << element;
    } else if constexpr (IsArray<T>) {
      for (const auto& element : value) *this << element;
    } else if constexpr (IsOptional<T>) {
      *this << value.has_value();
      if (value) *this << *value;
    } else {
      archive::detail::common_oarchive<OutArchive>::save_override(value);
    }
  }

  // What Boost itself would write: class ids, versions, object numbers. No type here asks for them.
  template <typename T>
  void save(const T&) {
    throw Malformed("Boost has class information to write");
  }

  void save_binary(const void* data, size_t size) {
    const auto* bytes = static_cast<const uint8_t*>(data);
    out_->insert(out_->end(), bytes, bytes + size);
  }

 private:
  template <typename T>
  void Number(T value) {
    save_binary(&value, sizeof value);
  }
  void Count(size_t count, uint32_t limit, const char* what) {
    if (count > limit)
      throw Malformed("a " + std::string(what) + " of " + std::to_string(count) + ", at most " + std::to_string(limit) +
                      " can be kept");
    Number(static_cast<uint32_t>(count));
  }

  std::vector<uint8_t>* out_;
  uint32_t version_;
};

// The fewest bytes that a T can take: a default-constructed one has no text and empty lists, and of the first version
// the fewest fields.
template <typename T, StateList kStates>
size_t SmallestEncoding() {
  static const size_t size = [] {
    std::vector<uint8_t> bytes;
    OutArchive out(&bytes, 1);
    out.states = kStates;
    const T value{};
    out << value;
    return bytes.size();
  }();
  return size;
}

class InArchive : public archive::detail::common_iarchive<InArchive> {
 public:
  InArchive(std::span<const uint8_t> bytes, uint32_t version) : bytes_(bytes), version_(version) {}

  uint32_t version() const { return version_; }
  StateList states = StateList::kOfTests;
  size_t left() const { return bytes_.size() - position_; }

  template <typename T>
  void load_override(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      const auto byte = Number<uint8_t>();
      if (byte > 1) Fail("a yes or no is " + std::to_string(byte));
      value = byte;
    } else if constexpr (std::is_enum_v<T>) {
      value = static_cast<T>(Number<std::underlying_type_t<T>>());
    } else if constexpr (std::is_arithmetic_v<T>) {
      value = Number<T>();
    } else if constexpr (std::is_same_v<T, std::string>) {
      value.resize(Count(1, format::kMaxString, "string"));
      load_binary(value.data(), value.size());
    } else if constexpr (std::is_same_v<T, std::vector<uint8_t>>) {
      value.resize(Count(1, format::kMaxBytes, "byte array"));
      load_binary(value.data(), value.size());
    } else if constexpr (IsVector<T>) {
      using Element = typename T::value_type;
      const size_t smallest = states == StateList::kRecorded ? SmallestEncoding<Element, StateList::kRecorded>()
                                                             : SmallestEncoding<Element, StateList::kOfTests>();
      value.resize(Count(smallest, format::kMaxCount, "list"));
      for (auto& element : value) *this >> element;
    } else if constexpr (IsArray<T>) {
      for (auto& element : value) *this >> element;
    } else if constexpr (IsOptional<T>) {
      bool present = false;
      *this >> present;
      if (present) *this >> value.emplace();
    } else {
      archive::detail::common_iarchive<InArchive>::load_override(value);
    }
  }

  template <typename T>
  void load(T&) {
    Fail("Boost wants class information");
  }

  void load_binary(void* data, size_t size) {
    if (size > left()) Fail("needs " + std::to_string(size) + " bytes, " + std::to_string(left()) + " are left");
    if (size > 0) std::memcpy(data, bytes_.data() + position_, size);
    position_ += size;
  }

  [[noreturn]] void Fail(const std::string& what) const {
    throw Malformed(what + " (at byte " + std::to_string(position_) + ")");
  }

 private:
  template <typename T>
  T Number() {
    T value;
    load_binary(&value, sizeof value);
    return value;
  }
  uint32_t Count(size_t smallest, uint32_t limit, const char* what) {
    const auto count = Number<uint32_t>();
    if (count > limit || count > left() / smallest)
      Fail("a " + std::string(what) + " of " + std::to_string(count) + " in " + std::to_string(left()) + " bytes");
    return count;
  }

  std::span<const uint8_t> bytes_;
  uint32_t version_;
  size_t position_ = 0;
};

template <typename Work>
Status Guard(Work work) {
  try {
    work();
    return Ok{};
  } catch (const std::bad_alloc&) {
    return Error{Errc::kRefused, "not enough memory"};
  } catch (const std::exception& problem) {
    return Error{Errc::kDamaged, problem.what()};
  }
}

template <typename Work>
Result<std::vector<uint8_t>> Encode(size_t limit, uint32_t version, Work work) {
  std::vector<uint8_t> bytes;
  Status status = Guard([&] {
    OutArchive out(&bytes, version);
    work(out);
    if (bytes.size() > limit)
      throw Malformed(std::to_string(bytes.size()) + " bytes of metadata, at most " + std::to_string(limit) +
                      " can be kept");
  });
  if (!status) return Error{Errc::kRefused, status.error().message};
  return bytes;
}

template <typename Work>
Status Decode(std::span<const uint8_t> bytes, uint32_t version, Work work) {
  return Guard([&] {
    InArchive in(bytes, version);
    work(in);
    if (in.left() > 0) in.Fail(std::to_string(in.left()) + " bytes too many");
  });
}

template <typename Archive>
void Visit(Archive& ar, auto& field) {
  ar & field;
}
template <typename Archive, typename T>
void Visit(Archive& ar, Since<T>& field) {
  if (ar.version() >= field.version) Visit(ar, field.field);
}
template <typename Archive, typename T>
void Visit(Archive&, Elsewhere<T>&) {}
template <typename Archive, typename T>
void Visit(Archive& ar, StatesOfLog<T>& states) {
  ar.states = StateList::kRecorded;
  ar & states.field;
  ar.states = StateList::kOfTests;
}
template <typename Archive, typename T>
void Visit(Archive& ar, In<T>& field) {
  if (ar.states == field.list) Visit(ar, field.field);
}
template <typename Archive, typename T>
void Visit(Archive& ar, DerivedFrom<T>& derived) {
  std::optional<uint32_t> outer;
  if (derived.state.origin == Origin::kDerived) outer = derived.state.outer;
  ar & outer;
  if constexpr (Archive::is_loading::value) {
    derived.state.origin = outer ? Origin::kDerived : Origin::kRecorded;
    derived.state.outer = outer.value_or(0);
  }
}
template <typename Archive, typename T>
void Visit(Archive& ar, Rewound<T>& rewound) {
  bool all = rewound.frame.start.rewind != 0;
  ar & all;
  if constexpr (Archive::is_loading::value) rewound.frame.start.rewind = all ? rewound.frame.StreamBits() : 0;
}

constexpr size_t kFxsaveSize = 512;
constexpr size_t kSha256Digits = 64;
constexpr size_t kSignatureDigits = 32;

void Check(bool holds, const char* what) {
  if (!holds) throw Malformed(what);
}

void CheckMappings(const std::vector<Mapping>& mappings) {
  for (const Mapping& mapping : mappings) Check(mapping.start < mapping.end, "a mapping ends before it starts");
}

void CheckLogs(const std::vector<KeptLog>& logs) {
  for (const KeptLog& log : logs) {
    Check(log.kind == LogKind::kStandardError || log.kind == LogKind::kNamed, "a log of unknown kind");
    Check(log.tail.size() <= log.size, "the end of a log is longer than the log");
  }
}

void CheckCode(const CodeInMemory& code) {
  uint64_t size = 0;
  for (const Region& region : code.kept) {
    size += region.bytes.size();
    Check(region.address.value <= UINT64_MAX - region.bytes.size(), "code beyond the address space");
  }
  Check(size <= kMostKeptCode, "more code than a report keeps");
  Check(code.flipped.size() <= kMostFlippedBytes, "more flipped bytes than a report keeps");
  Check(std::ranges::adjacent_find(code.flipped, std::ranges::greater_equal{}, &FlippedByte::address) ==
            code.flipped.end(),
        "flipped bytes that do not ascend");
  for (const FlippedByte& flipped : code.flipped)
    Check(std::has_single_bit(static_cast<uint8_t>(flipped.in_file ^ flipped.in_memory)),
          "a flipped byte of which not one bit differs");
}

void CheckInputs(const Report& report) {
  for (const Input& input : report.inputs) {
    Check(input.content >= InputContent::kHeld && input.content <= InputContent::kUnreadable,
          "an input of which it is not known whether it is held");
    Check(input.sha256.empty() || input.sha256.size() == kSha256Digits, "an input's SHA-256 is not of 64 digits");
    Check(!input.held() || input.size <= format::kMaxInputs, "an input is larger than its section can be");
  }
  const auto count = static_cast<int64_t>(report.inputs.size());
  for (const OpenFile& file : report.files)
    Check(file.input >= -1 && file.input < count, "an open file is an input that is not there");
}

// It stands in lines of a file, and is compared: nothing else may be in it.
void CheckSignature(const std::string& signature) {
  const bool is_hex = signature.find_first_not_of("0123456789abcdef") == std::string::npos;
  Check(signature.empty() || (signature.size() == kSignatureDigits && is_hex), "a signature that is not of 32 digits");
}

// Types name each other by their places.
void CheckTypes(const ModuleImage& image) {
  const auto is_there = [&](uint32_t type) { return type == 0 || type < image.types.size(); };
  for (const TypeLayout& type : image.types) {
    Check(type.form <= TypeForm::kMemberPointer, "a type of unknown form");
    bool there = is_there(type.target);
    for (const TypeMember& member : type.members) {
      Check(member.role <= MemberRole::kEnumerator, "a member of unknown role");
      there = there && is_there(member.type);
    }
    for (const uint32_t argument : type.arguments) there = there && is_there(argument);
    for (const uint32_t derived : type.derived) there = there && is_there(derived);
    Check(there, "a type leads to one that is not there");
  }
  for (const Variable& variable : image.variables)
    Check(is_there(variable.type), "a variable is of a type that is not there");
  for (const StackVariable& variable : image.stack_variables)
    Check(is_there(variable.type), "a variable is of a type that is not there");
}

}  // namespace

// Found by Boost through the namespace.
template <typename Archive, HasFields T>
void serialize(Archive& ar, T& record, unsigned) {
  Fields(record, [&](auto&&... field) { (Visit(ar, field), ...); });
}

Result<std::vector<uint8_t>> EncodeMetadata(const Report& report, uint32_t version) {
  return Encode(format::kMaxMetadata, version, [&](OutArchive& out) { out << report; });
}

Status DecodeMetadata(std::span<const uint8_t> bytes, uint32_t version, Report* report) {
  return Decode(bytes, version, [&](InArchive& in) {
    in >> *report;
    const Failure& failure = report->failure;
    Check(failure.kind >= FailureKind::kSignal && failure.kind <= FailureKind::kReported, "unknown kind of failure");
    for (const Thread& thread : report->threads)
      Check(thread.registers.fxsave.empty() || thread.registers.fxsave.size() == kFxsaveSize,
            "a thread's floating point state is not of 512 bytes");
    CheckMappings(report->mappings);
    for (const Module& module : report->modules)
      Check(module.base.value <= UINT64_MAX - module.size, "a module is larger than the address space");
    CheckInputs(*report);
    CheckSignature(report->signature);
    CheckLogs(report->logs);
    CheckCode(report->code);
    const auto check_stack = [](const ThrownStack& stack) {
      Check(stack.address.value <= UINT64_MAX - stack.bytes.size(),
            "the stack of the throw is larger than the address space");
    };
    if (report->thrown) check_stack(*report->thrown);
    if (report->replaced) check_stack(report->replaced->stack);
  });
}

Result<std::vector<uint8_t>> EncodeReplay(const ReplayData& replay, uint32_t version) {
  return Encode(format::kMaxReplay, version, [&](OutArchive& out) { out << replay; });
}

Status DecodeReplay(std::span<const uint8_t> bytes, uint32_t version, ReplayData* replay) {
  return Decode(bytes, version, [&](InArchive& in) {
    in >> *replay;
    for (const ReplayFrame& frame : replay->frames) {
      for (const ReplayWord& word : frame.words) {
        Check(word.size >= 1 && word.size <= word.bytes.size(), "a replay word's size is not 1 to 16");
        Check(word.source <= ValueSource::kRegister, "a replay word of unknown source");
      }
      for (const ReplayField& field : frame.fields)
        Check(field.address.value <= UINT64_MAX - field.bytes.size(), "a field is larger than the address space");
      for (const ReplayStream& stream : frame.streams)
        Check(stream.kind >= StreamKind::kIstream && stream.kind <= StreamKind::kFile, "unknown kind of stream");
    }
    for (const ModuleImage& image : replay->images) CheckTypes(image);
    for (size_t i = 1; i < replay->images.size(); ++i)
      Check(replay->images[i - 1].base < replay->images[i].base, "the images of modules are out of order");
    for (size_t i = 0; i < replay->entry_states.size(); ++i) {
      const EntryState& state = replay->entry_states[i];
      Check(i == 0 || replay->entry_states[i - 1].frame < state.frame, "the entry states of frames are out of order");
      CheckMappings(state.mappings);
    }
  });
}

Result<std::vector<uint8_t>> EncodeSnapshots(const SnapshotLog& snapshots, uint32_t version) {
  return Encode(format::kMaxSnapshots, version, [&](OutArchive& out) { out << snapshots; });
}

Status DecodeSnapshots(std::span<const uint8_t> bytes, uint32_t version, SnapshotLog* snapshots) {
  return Decode(bytes, version, [&](InArchive& in) {
    in >> *snapshots;
    const std::vector<EntryState>& states = snapshots->states;
    for (size_t i = 0; i < states.size(); ++i) {
      Check(i == 0 || states[i - 1].number < states[i].number, "the snapshots of entries are out of order");
      CheckMappings(states[i].mappings);
    }
  });
}

}  // namespace recrash
