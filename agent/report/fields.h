// The fields of each struct of a report, said once: the archive writes and reads them, the tests compare them.
//
//   Fields(mapping, [](auto&&... field) { ... });
//
// A binding must name all members of its struct, so a member that is added to report.h and forgotten here does not
// compile. The order is that of the file.
#ifndef RECRASH_AGENT_REPORT_FIELDS_H_
#define RECRASH_AGENT_REPORT_FIELDS_H_

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "agent/report/report.h"

namespace recrash {

// A field that came with this version of the format; in older ones it has its default value.
template <typename T>
struct Since {
  uint32_t version;
  T field;
};
template <typename T>
Since(uint32_t, T&&) -> Since<T>;

// A field that is not in the archive: it lies in a section of its own, or goes into the profile.
template <typename T>
struct Elsewhere {
  T& field;
};

// Entry states have other fields among those that the program recorded than among those that tests start from.
enum class StateList : uint8_t { kOfTests, kRecorded };
template <typename T>
struct In {
  StateList list;
  T field;
};
template <typename T>
In(StateList, T&&) -> In<T>;
template <typename T>
struct StatesOfLog {
  T& field;
};

// EntryState::origin: in the archive an optional number, of the frame that was replayed for a derived state.
template <typename T>
struct DerivedFrom {
  T& state;
};

// Start::rewind of a frame: in the archive one byte says whether all of its streams are rewound.
template <typename T>
struct Rewound {
  T& frame;
};

template <typename T, typename Struct>
concept Is = std::same_as<std::remove_const_t<T>, Struct>;

void Fields(Is<TargetAddress> auto& record, auto&& visit) {
  auto& [value] = record;
  visit(value);
}
void Fields(Is<Registers> auto& record, auto&& visit) {
  auto& [dwarf, fs_base, eflags, fxsave] = record;
  visit(dwarf, fs_base, eflags, fxsave);
}
void Fields(Is<Failure> auto& record, auto&& visit) {
  auto& [kind, signal, code, address, pc, abort_message, exception_type, exception_what, reason, replaced_by] = record;
  visit(kind, signal, code, address, pc, abort_message, exception_type, exception_what, reason, Since{8, replaced_by});
}
void Fields(Is<Thread> auto& record, auto&& visit) {
  auto& [id, name, failing, registers] = record;
  visit(id, name, failing, registers);
}
void Fields(Is<Module> auto& record, auto&& visit) {
  auto& [path, build_id, base, size, bias, is_program] = record;
  visit(path, build_id, base, size, bias, is_program);
}
void Fields(Is<Mapping> auto& record, auto&& visit) {
  auto& [start, end, flags, file_offset, path] = record;
  visit(start, end, flags, file_offset, path);
}
void Fields(Is<Region> auto& record, auto&& visit) {
  auto& [address, bytes] = record;
  visit(address, bytes);
}
void Fields(Is<OpenFile> auto& record, auto&& visit) {
  auto& [descriptor, flags, offset, mode, size, path, input] = record;
  visit(descriptor, flags, offset, mode, size, path, input);
}
void Fields(Is<Input> auto& record, auto&& visit) {
  auto& [names, path, size, sha256, content, bytes, attached] = record;
  visit(names, path, size, sha256, content, Elsewhere{bytes}, Since{9, attached});
}
void Fields(Is<Note> auto& record, auto&& visit) {
  auto& [key, value, cut] = record;
  visit(key, value, cut);
}
void Fields(Is<KeptLog> auto& record, auto&& visit) {
  auto& [kind, path, size, tail] = record;
  visit(kind, path, size, tail);
}
void Fields(Is<ThrownStack> auto& record, auto&& visit) {
  auto& [registers, address, bytes] = record;
  visit(registers, address, bytes);
}
void Fields(Is<ReplacedException> auto& record, auto&& visit) {
  auto& [type, what, stack] = record;
  visit(type, what, stack);
}
void Fields(Is<FlippedByte> auto& record, auto&& visit) {
  auto& [address, in_file, in_memory] = record;
  visit(address, in_file, in_memory);
}
void Fields(Is<CodeInMemory> auto& record, auto&& visit) {
  auto& [kept, flipped, changed] = record;
  visit(kept, flipped, changed);
}
void Fields(Is<SnapshotFigures> auto& record, auto&& visit) {
  auto& [taken, skipped_rate, skipped_budget, skipped_memory, skipped_pause, skipped_busy, cpu_ns, process_cpu_ns,
         longest_pause_ns, pages_copied, log_bytes, entries, entries_ns, faults_ns] = record;
  visit(taken, skipped_rate, skipped_budget, skipped_memory, skipped_pause, skipped_busy, cpu_ns, process_cpu_ns,
        longest_pause_ns, pages_copied, log_bytes, Since{2, entries}, Since{2, entries_ns}, Since{2, faults_ns});
}
void Fields(Is<RecordedFunction> auto& record, auto&& visit) {
  auto& [entry, entries, snapshots, cpu_ns, inclusive_ns] = record;
  visit(entry, entries, snapshots, cpu_ns, inclusive_ns);
}
void Fields(Is<SnapshotLog> auto& record, auto&& visit) {
  auto& [figures, states, functions] = record;
  visit(figures, StatesOfLog{states}, Elsewhere{functions});
}
void Fields(Is<Process> auto& record, auto&& visit) {
  auto& [pid, program, working_directory, arguments, version, mode, options, brk_start, brk_end, stack_limit,
         crashed_at, collect_ns] = record;
  visit(pid, program, working_directory, arguments, version, mode, options, brk_start, brk_end, stack_limit, crashed_at,
        collect_ns);
}
void Fields(Is<ReplayWord> auto& record, auto&& visit) {
  auto& [location, stack_offset, size, bytes, parameter, source_offset, source] = record;
  visit(location, stack_offset, size, bytes, parameter, source_offset, source);
}
void Fields(Is<ReplayField> auto& record, auto&& visit) {
  auto& [address, bytes, depth] = record;
  visit(address, bytes, Since{3, depth});
}
void Fields(Is<ReplayStream> auto& record, auto&& visit) {
  auto& [parameter, kind, offset] = record;
  visit(parameter, kind, offset);
}
void Fields(Is<ReplayParameter> auto& record, auto&& visit) {
  auto& [number, name, type, indirect] = record;
  visit(number, name, type, indirect);
}
void Fields(Is<ReplayLiteral> auto& record, auto&& visit) {
  auto& [path, digest] = record;
  visit(path, digest);
}
void Fields(Is<ReplayFrame> auto& record, auto&& visit) {
  auto& [index, linkage_name, function, file, line, entry, entry_sp, words, fields, streams, start, caught, parameters,
         inlined_at, dangling, literals, changed_call] = record;
  [[maybe_unused]] auto& [depth, from_entry, sealed, rewind] = start;
  visit(index, linkage_name, function, file, line, entry, entry_sp, words, fields, streams, depth, Rewound{record},
        from_entry, sealed, Since{4, caught}, Since{4, parameters}, Since{4, inlined_at}, Since{4, dangling},
        Since{6, literals}, Since{7, changed_call});
}
void Fields(Is<Symbol> auto& record, auto&& visit) {
  auto& [offset, size, is_function, name] = record;
  visit(offset, size, is_function, name);
}
void Fields(Is<TypeMember> auto& record, auto&& visit) {
  auto& [role, name, offset, type, bit_offset, bit_size] = record;
  visit(role, name, offset, type, bit_offset, bit_size);
}
void Fields(Is<TypeLayout> auto& record, auto&& visit) {
  auto& [form, name, size, is_signed, target, count, members, slots, arguments, derived] = record;
  visit(form, name, size, is_signed, target, count, members, slots, arguments, derived);
}
void Fields(Is<Variable> auto& record, auto&& visit) {
  auto& [name, offset, type] = record;
  visit(name, offset, type);
}
void Fields(Is<StackVariable> auto& record, auto&& visit) {
  auto& [address, type, count] = record;
  visit(address, type, count);
}
void Fields(Is<ModuleImage> auto& record, auto&& visit) {
  auto& [base, read_only, symbols, types, variables, thread_locals, inlined, stack_variables] = record;
  visit(base, Elsewhere{read_only}, symbols, Since{4, types}, Since{4, variables}, Since{4, thread_locals},
        Since{4, inlined}, Since{7, stack_variables});
}
void Fields(Is<SourceFrame> auto& record, auto&& visit) {
  auto& [function, file] = record;
  visit(function, file);
}
void Fields(Is<CodeRange> auto& record, auto&& visit) {
  auto& [start, end] = record;
  visit(start, end);
}
void Fields(Is<Place> auto& record, auto&& visit) {
  auto& [function, file, line, pc, function_start, function_size, chain, copies, declared] = record;
  visit(function, file, line, pc, function_start, function_size, Since{4, chain}, Since{4, copies}, Since{7, declared});
}
void Fields(Is<EntryState> auto& record, auto&& visit) {
  auto& [origin, outer, frame, number, thread, others_ran, copied_depth, copies_cut, registers, arguments, brk_end,
         mappings, files, not_loaded, memory] = record;
  auto& [integer, vector, entry, sp] = registers;
  constexpr StateList kOfTests = StateList::kOfTests, kRecorded = StateList::kRecorded;
  visit(In{kOfTests, frame}, In{kRecorded, number}, In{kRecorded, entry}, In{kRecorded, sp}, In{kRecorded, thread},
        In{kRecorded, others_ran}, In{kRecorded, Since{2, copied_depth}}, In{kRecorded, Since{2, copies_cut}}, brk_end,
        mappings, files, not_loaded, In{kOfTests, Since{2, DerivedFrom{record}}}, In{kOfTests, Since{2, copied_depth}},
        In{kRecorded, integer}, In{kRecorded, vector}, Elsewhere{arguments}, Elsewhere{memory});
}
void Fields(Is<ReplayData> auto& record, auto&& visit) {
  auto& [frames, place, images, entry_states, load_order] = record;
  visit(frames, place, images, entry_states, Since{4, load_order});
}
void Fields(Is<Report> auto& record, auto&& visit) {
  auto& [process, failure, threads, modules, mappings, files, inputs, thrown, replaced, memory, memory_complete, losses,
         snapshots, signature, notes, logs, code] = record;
  visit(process, failure, threads, modules, mappings, files, inputs, thrown, Since{8, replaced}, Elsewhere{memory},
        memory_complete, losses, Elsewhere{snapshots}, Since{9, signature}, Since{9, notes}, Since{9, logs},
        Since{9, code});
}

template <typename T>
concept HasFields = requires(T& record) { Fields(record, [](auto&&...) {}); };

}  // namespace recrash

#endif  // RECRASH_AGENT_REPORT_FIELDS_H_
