#include "testgen/explain/machine_code.h"

#include <Zydis/Zydis.h>

#include <algorithm>

namespace recrash::explain {
namespace {

uint8_t NumberOf(ZydisRegister reg) {
  const ZydisRegister largest = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
  if (largest >= ZYDIS_REGISTER_RAX && largest <= ZYDIS_REGISTER_R15)
    return static_cast<uint8_t>(largest - ZYDIS_REGISTER_RAX);
  if (largest >= ZYDIS_REGISTER_ZMM0 && largest <= ZYDIS_REGISTER_ZMM31)
    return static_cast<uint8_t>(kFirstVector + (largest - ZYDIS_REGISTER_ZMM0));
  return kNone;
}

bool IsFlags(ZydisRegister reg) {
  return reg == ZYDIS_REGISTER_FLAGS || reg == ZYDIS_REGISTER_EFLAGS || reg == ZYDIS_REGISTER_RFLAGS;
}

CodeKind KindOfMnemonic(ZydisMnemonic mnemonic) {
  switch (mnemonic) {
    case ZYDIS_MNEMONIC_LEA:
      return CodeKind::kAddress;
    case ZYDIS_MNEMONIC_CMP:
    case ZYDIS_MNEMONIC_TEST:
    case ZYDIS_MNEMONIC_BT:
    case ZYDIS_MNEMONIC_COMISD:
    case ZYDIS_MNEMONIC_COMISS:
    case ZYDIS_MNEMONIC_UCOMISD:
    case ZYDIS_MNEMONIC_UCOMISS:
    case ZYDIS_MNEMONIC_VUCOMISD:
    case ZYDIS_MNEMONIC_VUCOMISS:
      return CodeKind::kCompare;
    case ZYDIS_MNEMONIC_HLT:
    case ZYDIS_MNEMONIC_UD2:
    case ZYDIS_MNEMONIC_INT3:
      return CodeKind::kStop;
    case ZYDIS_MNEMONIC_CDQ:
    case ZYDIS_MNEMONIC_CQO:
    case ZYDIS_MNEMONIC_CDQE:
    case ZYDIS_MNEMONIC_CWDE:
    case ZYDIS_MNEMONIC_BSWAP:
      return CodeKind::kMove;
    default:
      return CodeKind::kOther;
  }
}

CodeKind KindOfString(const std::string& name) {
  if (name.starts_with("movs") || name.starts_with("stos")) return CodeKind::kString;
  return name.starts_with("lods") ? CodeKind::kMove : CodeKind::kCompare;
}

// Instructions that hand a value on are named for that, whatever set they are of.
bool IsMove(const ZydisDecodedInstruction& instruction) {
  const std::string name = ZydisMnemonicGetString(instruction.mnemonic);
  return name.starts_with("mov") || name.starts_with("vmov") || name.starts_with("cvt") || name.starts_with("vcvt") ||
         name.starts_with("pshuf") || name.starts_with("punpckl") || name.starts_with("pinsr") ||
         name.starts_with("lddqu") || name.starts_with("vbroadcast");
}

CodeKind KindOf(const ZydisDecodedInstruction& instruction) {
  switch (instruction.meta.category) {
    case ZYDIS_CATEGORY_CALL:
      return CodeKind::kCall;
    case ZYDIS_CATEGORY_RET:
      return CodeKind::kReturn;
    case ZYDIS_CATEGORY_UNCOND_BR:
      return CodeKind::kJump;
    case ZYDIS_CATEGORY_COND_BR:
      return CodeKind::kBranch;
    case ZYDIS_CATEGORY_PUSH:
      return CodeKind::kPush;
    case ZYDIS_CATEGORY_POP:
      return CodeKind::kPop;
    case ZYDIS_CATEGORY_CMOV:
      return CodeKind::kChoose;
    case ZYDIS_CATEGORY_SETCC:
      return CodeKind::kSet;
    case ZYDIS_CATEGORY_STRINGOP:
      return KindOfString(ZydisMnemonicGetString(instruction.mnemonic));
    default:
      break;
  }
  const CodeKind kind = KindOfMnemonic(instruction.mnemonic);
  return kind == CodeKind::kOther && IsMove(instruction) ? CodeKind::kMove : kind;
}

CodeOperand OperandOf(const ZydisDecodedOperand& from, const ZydisDecodedInstruction& instruction, uint64_t pc) {
  CodeOperand to;
  to.is_read = (from.actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
  to.is_written = (from.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
  to.is_hidden = from.visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN;
  to.size = from.size / 8U;
  if (from.type == ZYDIS_OPERAND_TYPE_REGISTER) {
    to.reg = NumberOf(from.reg.value);
  } else if (from.type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
    to.kind = CodeOperand::kImmediate;
    to.immediate = from.imm.value.s;
    uint64_t target = 0;
    if (from.imm.is_relative && ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&instruction, &from, pc, &target)))
      to.immediate = static_cast<int64_t>(target);
  } else {
    to.kind = CodeOperand::kMemory;
    to.base = NumberOf(from.mem.base);
    to.index = NumberOf(from.mem.index);
    to.scale = std::max<uint8_t>(from.mem.scale, 1);
    to.has_segment = from.mem.segment == ZYDIS_REGISTER_FS || from.mem.segment == ZYDIS_REGISTER_GS;
    to.displacement = from.mem.disp.has_displacement ? from.mem.disp.value : 0;
    if (from.mem.base == ZYDIS_REGISTER_RIP) to.displacement += static_cast<int64_t>(pc + instruction.length);
  }
  return to;
}

bool IsSameRegister(const CodeOperand& a, const CodeOperand& b) {
  return a.kind == CodeOperand::kRegister && b.kind == CodeOperand::kRegister && a.reg == b.reg && a.reg != kNone;
}

// xor eax, eax; sub eax, eax; pxor xmm0, xmm0.
bool Clears(const ZydisDecodedInstruction& instruction, const std::vector<CodeOperand>& operands) {
  const std::string name = ZydisMnemonicGetString(instruction.mnemonic);
  if (name != "xor" && name != "sub" && name != "pxor" && name != "xorps" && name != "xorpd" && name != "vpxor" &&
      name != "vxorps")
    return false;
  const size_t last = instruction.operand_count_visible - 1U;
  return last >= 1 && IsSameRegister(operands[last], operands[last - 1]);
}

bool Masks(const ZydisDecodedInstruction& instruction, const std::vector<CodeOperand>& operands) {
  if (instruction.mnemonic != ZYDIS_MNEMONIC_AND) return false;
  return operands.size() >= 2 && operands[1].kind == CodeOperand::kImmediate;
}

}  // namespace

bool CodeInstruction::Writes(uint8_t reg) const {
  return std::ranges::any_of(operands, [&](const CodeOperand& operand) {
    return operand.kind == CodeOperand::kRegister && operand.reg == reg && operand.is_written;
  });
}

const CodeOperand* CodeInstruction::Source() const {
  const CodeOperand* found = nullptr;
  for (const CodeOperand& operand : operands)
    if (operand.is_read && !operand.is_hidden) found = &operand;
  if (found) return found;
  for (const CodeOperand& operand : operands)
    if (operand.is_read && operand.reg != kRsp) return &operand;
  return nullptr;
}

const CodeOperand* CodeInstruction::Memory() const {
  const auto found = std::ranges::find_if(operands, [](const CodeOperand& operand) {
    return operand.kind == CodeOperand::kMemory && (operand.is_read || operand.is_written) && !operand.is_hidden;
  });
  return found == operands.end() ? nullptr : &*found;
}

CodeInstruction DecodeCode(std::span<const uint8_t> bytes, uint64_t pc) {
  CodeInstruction decoded;
  decoded.pc = pc;
  ZydisDecoder decoder;
  ZydisDecodedInstruction instruction;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
  ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes.data(), bytes.size(), &instruction, operands)))
    return decoded;
  decoded.length = instruction.length;
  for (size_t i = 0; i < instruction.operand_count; ++i) {
    if (operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER && IsFlags(operands[i].reg.value)) {
      decoded.reads_flags |= (operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
      decoded.writes_flags |= (operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
    }
    decoded.operands.push_back(OperandOf(operands[i], instruction, pc));
  }
  decoded.kind = KindOf(instruction);
  if (Clears(instruction, decoded.operands)) decoded.kind = CodeKind::kClear;
  if (Masks(instruction, decoded.operands)) decoded.kind = CodeKind::kMask;
  decoded.repeats =
      (instruction.attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE)) != 0;
  ZydisFormatter formatter;
  char text[96];
  if (ZYAN_SUCCESS(ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_INTEL)) &&
      ZYAN_SUCCESS(ZydisFormatterFormatInstruction(&formatter, &instruction, operands,
                                                   instruction.operand_count_visible, text, sizeof text, pc, nullptr)))
    decoded.text = text;
  return decoded;
}

std::string RegisterText(uint8_t reg) {
  static constexpr const char* kNames[] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
                                           "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};
  if (reg < kFirstVector) return kNames[reg];
  return "xmm" + std::to_string(reg - kFirstVector);
}

}  // namespace recrash::explain
