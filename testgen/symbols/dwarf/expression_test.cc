// Expressions as compilers write them, evaluated in an invented frame.
#include "testgen/symbols/dwarf/expression.h"

#include <dwarf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace recrash {
namespace {

using testing::ElementsAre;

constexpr uint64_t kStack = 0x7ffd1000;

class Expression : public testing::Test {
 protected:
  Expression() : memory_(report_, nullptr) {
    Region region{{kStack}, std::vector<uint8_t>(64)};
    for (size_t i = 0; i < region.bytes.size(); ++i) region.bytes[i] = static_cast<uint8_t>(i);
    report_.memory.push_back(region);
    registers_.Set(5, 0x1122334455667788);
    registers_.Set(6, kStack + 32);
    context_.memory = &memory_;
    context_.registers = &registers_;
    context_.bias = 0x10000;
    context_.cfa = TargetAddress{kStack + 48};
    context_.frame_base = TargetAddress{kStack + 16};
  }

  std::optional<uint64_t> Number(std::vector<Dwarf_Op> ops) { return EvaluateNumber(ops.data(), ops.size(), context_); }
  std::optional<std::vector<uint8_t>> Bytes(std::vector<Dwarf_Op> ops, size_t size) {
    const auto location = EvaluateLocation(ops.data(), ops.size(), context_);
    return location ? ReadLocation(*location, size, context_) : std::nullopt;
  }

  Report report_;
  ReportMemory memory_;
  RegisterFile registers_;
  ExpressionContext context_;
};

Dwarf_Op Op(uint8_t atom, uint64_t number = 0, uint64_t number2 = 0, uint64_t offset = 0) {
  return {atom, number, number2, offset};
}

TEST_F(Expression, ReadsRegistersAndWhatTheyPointTo) {
  EXPECT_THAT(*Bytes({Op(DW_OP_reg5)}, 4), ElementsAre(0x88, 0x77, 0x66, 0x55));
  EXPECT_THAT(*Bytes({Op(DW_OP_breg6, static_cast<uint64_t>(-2))}, 2), ElementsAre(30, 31));
  EXPECT_THAT(*Bytes({Op(DW_OP_fbreg, 4)}, 2), ElementsAre(20, 21));
  EXPECT_THAT(*Bytes({Op(DW_OP_call_frame_cfa)}, 1), ElementsAre(48));
  EXPECT_FALSE(Bytes({Op(DW_OP_reg0)}, 4));  // rax of a caller is not known
  EXPECT_FALSE(Bytes({Op(DW_OP_breg0, 8)}, 4));
  EXPECT_FALSE(Bytes({Op(DW_OP_reg5)}, 12));      // more than a register holds
  EXPECT_FALSE(Bytes({Op(DW_OP_breg6, 32)}, 1));  // one byte past what was kept
  EXPECT_FALSE(Bytes({}, 4));                     // optimised away
}

TEST_F(Expression, PutsPiecesTogether) {
  const auto bytes = Bytes({Op(DW_OP_reg5), Op(DW_OP_piece, 4), Op(DW_OP_fbreg, 0), Op(DW_OP_piece, 2), Op(DW_OP_lit7),
                            Op(DW_OP_stack_value), Op(DW_OP_piece, 1)},
                           7);
  ASSERT_TRUE(bytes);
  EXPECT_THAT(*bytes, ElementsAre(0x88, 0x77, 0x66, 0x55, 16, 17, 7));
  // The second half was optimised away: the value as a whole is not known, its first half is.
  EXPECT_FALSE(Bytes({Op(DW_OP_reg5), Op(DW_OP_piece, 4), Op(DW_OP_piece, 4)}, 8));
  EXPECT_TRUE(Bytes({Op(DW_OP_reg5), Op(DW_OP_piece, 4), Op(DW_OP_piece, 4)}, 4));
}

TEST_F(Expression, AddsTheBiasToAddresses) { EXPECT_EQ(Number({Op(DW_OP_addr, 0x2000)}), 0x12000u); }

TEST_F(Expression, Calculates) {
  const auto binary = [&](uint64_t a, uint64_t b, uint8_t atom) {
    return Number({Op(DW_OP_const8u, a), Op(DW_OP_const8u, b), Op(atom)});
  };
  EXPECT_EQ(binary(7, 5, DW_OP_plus), 12u);
  EXPECT_EQ(binary(7, 5, DW_OP_minus), 2u);
  EXPECT_EQ(binary(7, 5, DW_OP_mul), 35u);
  EXPECT_EQ(binary(static_cast<uint64_t>(-7), 2, DW_OP_div), static_cast<uint64_t>(-3));
  EXPECT_EQ(binary(7, 5, DW_OP_mod), 2u);
  EXPECT_EQ(binary(1, 4, DW_OP_shl), 16u);
  EXPECT_EQ(binary(static_cast<uint64_t>(-16), 2, DW_OP_shra), static_cast<uint64_t>(-4));
  EXPECT_EQ(binary(static_cast<uint64_t>(-1), 60, DW_OP_shr), 15u);
  EXPECT_EQ(binary(1, 200, DW_OP_shl), 0u);
  EXPECT_EQ(binary(6, 3, DW_OP_xor), 5u);
  EXPECT_EQ(binary(static_cast<uint64_t>(-1), 0, DW_OP_lt), 1u);
  EXPECT_EQ(binary(3, 3, DW_OP_ge), 1u);
  EXPECT_FALSE(binary(1, 0, DW_OP_div));
  EXPECT_FALSE(binary(1, 0, DW_OP_mod));
  EXPECT_FALSE(binary(static_cast<uint64_t>(INT64_MIN), static_cast<uint64_t>(-1), DW_OP_div));
  EXPECT_FALSE(Number({Op(DW_OP_lit1), Op(DW_OP_plus)}));  // one operand is missing
  EXPECT_EQ(Number({Op(DW_OP_lit5), Op(DW_OP_neg), Op(DW_OP_abs), Op(DW_OP_plus_uconst, 3)}), 8u);
}

TEST_F(Expression, MovesItsStackAbout) {
  EXPECT_EQ(Number({Op(DW_OP_lit1), Op(DW_OP_lit2), Op(DW_OP_swap)}), 1u);
  EXPECT_EQ(Number({Op(DW_OP_lit1), Op(DW_OP_lit2), Op(DW_OP_over)}), 1u);
  EXPECT_EQ(Number({Op(DW_OP_lit1), Op(DW_OP_lit2), Op(DW_OP_lit3), Op(DW_OP_pick, 2)}), 1u);
  EXPECT_EQ(Number({Op(DW_OP_lit1), Op(DW_OP_lit2), Op(DW_OP_lit3), Op(DW_OP_rot)}), 2u);
  EXPECT_EQ(Number({Op(DW_OP_lit1), Op(DW_OP_lit2), Op(DW_OP_lit3), Op(DW_OP_rot), Op(DW_OP_drop), Op(DW_OP_drop)}),
            3u);
  EXPECT_FALSE(Number({Op(DW_OP_swap)}));
  EXPECT_FALSE(Number({Op(DW_OP_drop)}));
}

TEST_F(Expression, DereferencesKeptMemoryOnly) {
  EXPECT_EQ(Number({Op(DW_OP_fbreg, 0), Op(DW_OP_deref_size, 2)}), 0x1110u);
  EXPECT_FALSE(Number({Op(DW_OP_lit8), Op(DW_OP_deref)}));
  EXPECT_FALSE(Number({Op(DW_OP_fbreg, 0), Op(DW_OP_deref_size, 9)}));
}

// DW_OP_bra skips to the offset of an operation; an endless loop in a damaged file must end.
TEST_F(Expression, BranchesAndStops) {
  EXPECT_EQ(Number({Op(DW_OP_lit1, 0, 0, 0), Op(DW_OP_bra, 1, 0, 1), Op(DW_OP_lit9, 0, 0, 4), Op(DW_OP_lit3, 0, 0, 5)}),
            3u);
  EXPECT_FALSE(Number({Op(DW_OP_lit1, 0, 0, 0), Op(DW_OP_skip, static_cast<uint64_t>(-4), 0, 1)}));
  EXPECT_FALSE(Number({Op(DW_OP_lit1, 0, 0, 0), Op(DW_OP_skip, 1000, 0, 1), Op(DW_OP_lit2, 0, 0, 2000)}));
}

TEST_F(Expression, ResolvesEntryValuesThroughTheCaller) {
  context_.entry_value = [](const Dwarf_Op*, size_t) { return std::optional<uint64_t>(77); };
  // Without the attribute the inner block cannot be found: nothing, not a guess.
  EXPECT_FALSE(Number({Op(DW_OP_entry_value, 1), Op(DW_OP_stack_value)}));
}

TEST_F(Expression, DoesNotGuessWhatItDoesNotKnow) {
  EXPECT_FALSE(Number({Op(DW_OP_lit1), Op(DW_OP_form_tls_address)}));
  EXPECT_FALSE(Number({Op(DW_OP_lit1), Op(DW_OP_lit1), Op(0xdf)}));
  EXPECT_FALSE(Bytes({Op(DW_OP_implicit_pointer, 4)}, 8));
}

TEST_F(Expression, ReadsVectorRegistersOfTheInnermostFrame) {
  std::vector<uint8_t> fxsave(512);
  fxsave[160 + 16] = 0xab;  // xmm1
  context_.fxsave = fxsave;
  EXPECT_THAT(*Bytes({Op(DW_OP_reg0 + 18)}, 1), ElementsAre(0xab));
  context_.fxsave = {};
  EXPECT_FALSE(Bytes({Op(DW_OP_reg0 + 18)}, 1));
}

}  // namespace
}  // namespace recrash
