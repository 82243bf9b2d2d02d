#include "testgen/carry/carry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testgen/carry/testing_heap.h"
#include "testgen/carry/testing_types.h"

namespace recrash {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

constexpr uint64_t kFreePages = 0x200000000000;

// Order {int id; Order* next;} became Order {long currency; long id; Order* next;}: 16 bytes became 24, which a block
// has room for. LargeOrder grew to 64.
class Carry : public ::testing::Test {
 protected:
  Carry() {
    order_ = {before.Class("Order", 16, {}), now.Class("Order", 24, {})};
    order_pointer_ = {before.PointerTo(order_.before), now.PointerTo(order_.now)};
    const uint32_t id = before.Int(), id_now = now.Long();
    SetMembers(&before[order_.before], {{"id", 0, id}, {"next", 8, order_pointer_.before}});
    SetMembers(&now[order_.now], {{"currency", 0, id_now}, {"id", 8, id_now}, {"next", 16, order_pointer_.now}});
    large_ = {before.Class("LargeOrder", 16, {{"id", 0, before.Int()}, {"total", 8, before.Long()}}),
              now.Class("LargeOrder", 64, {{"total", 0, now.Long()}, {"id", 56, now.Int()}})};
    large_pointer_ = {before.PointerTo(large_.before), now.PointerTo(large_.now)};
  }

  static void SetMembers(TypeLayout* type, const std::vector<TestingMember>& members) {
    for (const TestingMember& member : members)
      type->members.push_back({member.role, member.name, member.offset, member.type, 0, 0});
  }

  uint64_t NewOrder(int32_t id, uint64_t next) {
    const uint64_t order = heap.Allocate(16);
    heap.Put(order, id);
    heap.Put(order + 8, next);
    return order;
  }
  uint64_t NewLarge(int32_t id, int64_t total) {
    const uint64_t order = heap.Allocate(16);
    heap.Put(order, id);
    heap.Put(order + 8, total);
    return order;
  }

  // Carries what one argument leads to.
  const CarriedMemory& CarryOver(const TypePair& type, uint64_t value) { return CarryOver({{type, value}}); }
  const CarriedMemory& CarryOver(const std::vector<std::pair<TypePair, uint64_t>>& arguments) {
    types_.emplace(before.all(), now.all());
    RecordedObjects recorded;
    recorded.read = [this](uint64_t address, std::span<uint8_t> out) { return heap.Read(address, out); };
    recorded.heap_start = TestingHeap::kStart;
    recorded.heap_end = heap.end();
    recorded.free_pages = kFreePages;
    recorded.class_of_vtable = [this](uint64_t word) -> std::optional<std::string> {
      const auto found = vtables.find(word);
      return found == vtables.end() ? std::nullopt : std::optional(found->second);
    };
    Carrier carrier(&*types_, recorded);
    for (const StackVariable& variable : stack_variables) carrier.AddStackVariable(variable);
    for (const auto& [type, value] : arguments)
      carrier.AddArgument(type, {reinterpret_cast<const uint8_t*>(&value), sizeof value}, false, "order");
    return carried_ = carrier.Carry();
  }

  // Of the memory as the new build finds it.
  uint64_t NowAt(uint64_t address) {
    for (const std::vector<CarriedBytes>* all : {&carried_.writes, &carried_.pages})
      for (const CarriedBytes& bytes : *all)
        if (address >= bytes.address && address + 8 <= bytes.address + bytes.bytes.size()) {
          uint64_t word;
          std::memcpy(&word, bytes.bytes.data() + (address - bytes.address), 8);
          return word;
        }
    return heap.Word(address);
  }
  uint64_t ArgumentNow(size_t i = 0) {
    uint64_t word;
    std::memcpy(&word, carried_.arguments[i].bytes.data(), 8);
    return word;
  }
  std::string Problem(size_t i = 0) { return carried_.arguments[i].problem; }

  TestingTypes before, now;
  TestingHeap heap;
  std::map<uint64_t, std::string> vtables;
  std::vector<StackVariable> stack_variables;
  TypePair order_, order_pointer_, large_, large_pointer_;
  std::optional<TypePairs> types_;
  CarriedMemory carried_;
};

TEST_F(Carry, MovesMembersInAnObjectWhoseBlockHasRoom) {
  const uint64_t last = NewOrder(-7, 0), first = NewOrder(5, last);
  CarryOver(order_pointer_, first);
  EXPECT_EQ(Problem(), "");
  EXPECT_EQ(ArgumentNow(), first);
  EXPECT_EQ(NowAt(first), 0u);
  EXPECT_EQ(NowAt(first + 8), 5u);
  EXPECT_EQ(NowAt(first + 16), last);
  EXPECT_EQ(static_cast<int64_t>(NowAt(last + 8)), -7);  // widened with its sign
  EXPECT_THAT(carried_.notes, Contains(HasSubstr("member `currency` of class Order was added")));
}

TEST_F(Carry, MovesAnObjectThatHasNoRoomAndAllPointersToIt) {
  const uint64_t large = NewLarge(3, 9);
  const TypePair holder{
      before.Class("Holder", 16, {{"order", 0, large_pointer_.before}, {"total", 8, before.PointerTo(before.Long())}}),
      now.Class("Holder", 16, {{"order", 0, large_pointer_.now}, {"total", 8, now.PointerTo(now.Long())}})};
  const uint64_t object = heap.Allocate(16);
  heap.Put(object, large);
  heap.Put(object + 8, large + 8);  // leads into the middle, to the total
  CarryOver({{{before.PointerTo(holder.before), now.PointerTo(holder.now)}, object}, {large_pointer_, large}});
  EXPECT_EQ(Problem(), "");
  const uint64_t moved = ArgumentNow(1);
  EXPECT_EQ(moved, kFreePages + 16);
  EXPECT_EQ(NowAt(moved - 8), 4096u | 2);  // a block that malloc has mapped, for free()
  EXPECT_EQ(NowAt(object), moved);
  EXPECT_EQ(NowAt(object + 8), moved);  // the total lies first now
  EXPECT_EQ(NowAt(moved), 9u);
  EXPECT_EQ(NowAt(moved + 56), 3u);
}

// Zero in the place of a value that only has another name would be a fix that nobody made.
TEST_F(Carry, SaysWhichMembersMayBeOne) {
  const TypePair sale{before.Class("Sale", 16, {{"order", 0, large_pointer_.before}, {"sum", 8, before.Long()}}),
                      now.Class("Sale", 16, {{"order", 8, large_pointer_.now}, {"total", 0, now.Long()}})};
  CarryOver({before.PointerTo(sale.before), now.PointerTo(sale.now)}, heap.Allocate(16));
  EXPECT_THAT(Problem(), HasSubstr("Sale has lost `sum` and got `total`: whether that is the same"));
}

TEST_F(Carry, CarriesWhereAMemberOfAnotherTypeIsNew) {
  const TypePair sale{before.Class("Sale", 16, {{"order", 0, large_pointer_.before}, {"sum", 8, before.Long()}}),
                      now.Class("Sale", 16, {{"order", 8, large_pointer_.now}, {"code", 0, now.Int()}})};
  CarryOver({before.PointerTo(sale.before), now.PointerTo(sale.now)}, heap.Allocate(16));
  EXPECT_EQ(Problem(), "");
}

// A pointer to it might lead to an array, of which only the first element would be carried over.
TEST_F(Carry, MovesAnObjectOfTheStackToWhichAReferenceLeads) {
  heap.Put(TestingHeap::kStack + 64, int32_t{4});
  CarryOver(large_pointer_, TestingHeap::kStack + 64);
  EXPECT_THAT(Problem(), HasSubstr("may be one of an array"));
  before[large_pointer_.before].name = "LargeOrder&";
  CarryOver(large_pointer_, TestingHeap::kStack + 64);
  EXPECT_EQ(Problem(), "");
  EXPECT_EQ(NowAt(ArgumentNow() + 56), 4u);
}

TEST_F(Carry, MovesAllObjectsOfAVariableOfTheStack) {
  for (int i = 0; i < 3; ++i) heap.Put(TestingHeap::kStack + 64 + i * 16u, int32_t{i + 4});
  stack_variables = {{TestingHeap::kStack + 64, large_.before, 3}};
  CarryOver({{large_pointer_, TestingHeap::kStack + 96}, {large_pointer_, TestingHeap::kStack + 64}});
  EXPECT_EQ(Problem(), "");
  EXPECT_EQ(ArgumentNow() - ArgumentNow(1), 128u);
  for (uint64_t i = 0; i < 3; ++i) EXPECT_EQ(NowAt(ArgumentNow(1) + i * 64 + 56), i + 4);
}

// Of another class, or not where an object of the variable begins.
TEST_F(Carry, TakesNoOtherVariableForTheOneThatAnObjectLiesIn) {
  stack_variables = {{TestingHeap::kStack + 64, order_.before, 3}};
  CarryOver(large_pointer_, TestingHeap::kStack + 64);
  EXPECT_THAT(Problem(), HasSubstr("may be one of an array"));
  stack_variables = {{TestingHeap::kStack + 56, large_.before, 3},
                     {TestingHeap::kStack + 256, large_.before, 1u << 30}};
  CarryOver(large_pointer_, TestingHeap::kStack + 64);
  EXPECT_THAT(Problem(), HasSubstr("may be one of an array"));
  CarryOver(large_pointer_, TestingHeap::kStack + 256);
  EXPECT_THAT(Problem(), HasSubstr("may be one of an array"));
}

TEST_F(Carry, RefusesWhatAnUntypedPointerLeadsTo) {
  const uint64_t large = NewLarge(3, 9);
  const TypePair holder{
      before.Class("Holder", 16, {{"order", 0, large_pointer_.before}, {"any", 8, before.PointerTo(0)}}),
      now.Class("Holder", 16, {{"order", 0, large_pointer_.now}, {"any", 8, now.PointerTo(0)}})};
  const TypePair pointer{before.PointerTo(holder.before), now.PointerTo(holder.now)};
  const uint64_t object = heap.Allocate(16);
  heap.Put(object, large);
  heap.Put(object + 8, large);
  CarryOver(pointer, object);
  EXPECT_THAT(Problem(), HasSubstr("an untyped pointer in it leads to an object of LargeOrder"));
  // Of the same size as such an object, and reached by nothing that has a type.
  heap.Put(object + 8, NewLarge(1, 1));
  CarryOver(pointer, object);
  EXPECT_THAT(Problem(), HasSubstr("an untyped pointer in it leads to what may be an object of LargeOrder"));
  heap.Put(object + 8, heap.Allocate(500));
  CarryOver(pointer, object);
  EXPECT_EQ(Problem(), "");
}

// Another frame, which leads to no such object, can be called.
TEST_F(Carry, TellsFramesApart) {
  const uint64_t freed = NewLarge(3, 9);
  heap.Free(freed);
  CarryOver({{large_pointer_, freed}, {order_pointer_, NewOrder(1, 0)}});
  EXPECT_THAT(Problem(0), HasSubstr("it is freed, and larger now"));
  EXPECT_EQ(Problem(1), "");
}

TEST_F(Carry, RefusesAPartOfALargerBlock) {
  const uint64_t block = heap.Allocate(200);
  CarryOver(large_pointer_, block + 32);
  EXPECT_THAT(Problem(), HasSubstr("it is larger now, and a part of a block of the heap"));
}

// An intrusive list leads to a member of objects of which it does not say the type.
TEST_F(Carry, RefusesAPartOfWhatMayBeAnObject) {
  const TypePair node{before.Class("Node", 8, {}), now.Class("Node", 8, {})};
  const TypePair pointer{before.PointerTo(node.before), now.PointerTo(node.now)};
  CarryOver({{large_pointer_, NewLarge(1, 2)}, {pointer, NewLarge(3, 0) + 8}, {pointer, heap.Allocate(100) + 8}});
  EXPECT_EQ(Problem(0), "");
  EXPECT_THAT(Problem(1), HasSubstr("it is a part of what may be an object of LargeOrder"));
  EXPECT_EQ(Problem(2), "");
}

TEST_F(Carry, RefusesAPointerToAMemberThatIsGone) {
  const TypePair old{before.Class("Item", 16, {{"price", 0, before.Long()}, {"tax", 8, before.Long()}}),
                     now.Class("Item", 8, {{"price", 0, now.Long()}})};
  const TypePair number{before.PointerTo(before.Long()), now.PointerTo(now.Long())};
  const uint64_t item = heap.Allocate(16);
  CarryOver({{{before.PointerTo(old.before), now.PointerTo(old.now)}, item}, {number, item + 8}, {number, item}});
  EXPECT_EQ(Problem(0), "");
  EXPECT_THAT(Problem(1), HasSubstr("leads to what is not there in this build"));
  EXPECT_EQ(ArgumentNow(2), item);
}

TEST_F(Carry, MakesVectorsOfGrownElements) {
  const auto vector_of = [](TestingTypes* types, uint32_t element) {
    const uint32_t pointer = types->PointerTo(element);
    const uint32_t vector =
        types->Class("std::vector<LargeOrder>", 24,
                     {{"_M_start", 0, pointer}, {"_M_finish", 8, pointer}, {"_M_end_of_storage", 16, pointer}});
    (*types)[vector].arguments = {element};
    return vector;
  };
  const TypePair vector{vector_of(&before, large_.before), vector_of(&now, large_.now)};
  const uint64_t object = heap.Allocate(24), storage = heap.Allocate(4 * 16);
  for (int i = 0; i < 3; ++i) heap.Put(storage + i * 16, int32_t{i + 1});
  heap.Put(object, storage);
  heap.Put(object + 8, storage + 3 * 16);
  heap.Put(object + 16, storage + 4 * 16);
  CarryOver({{{before.PointerTo(vector.before), now.PointerTo(vector.now)}, object}, {large_pointer_, storage + 16}});
  EXPECT_EQ(Problem(), "");
  const uint64_t start = NowAt(object);
  EXPECT_EQ(NowAt(object + 8), start + 3 * 64);
  EXPECT_EQ(NowAt(object + 16), start + 4 * 64);
  EXPECT_EQ(NowAt(start + 2 * 64 + 56), 3u);
  EXPECT_EQ(ArgumentNow(1), start + 64);  // to an element
}

// A tree's nodes lead to each other by a base that says nothing of what they hold.
TEST_F(Carry, FindsNodesOfMaps) {
  const auto map_of = [](TestingTypes* types, uint32_t element, uint64_t size) {
    const uint32_t base = types->Class("std::_Rb_tree_node_base", 32, {});
    const uint32_t pointer = types->PointerTo(base);
    SetMembers(&(*types)[base], {{"_M_parent", 8, pointer}, {"_M_left", 16, pointer}, {"_M_right", 24, pointer}});
    const uint32_t room = types->Class("__gnu_cxx::__aligned_membuf<LargeOrder>", size, {});
    (*types)[room].arguments = {element};
    const uint32_t node =
        types->Class("std::_Rb_tree_node<LargeOrder>", 32 + size,
                     {{"std::_Rb_tree_node_base", 0, base, MemberRole::kBase}, {"_M_storage", 32, room}});
    const uint32_t set = types->Class("std::set<LargeOrder>", 48, {{"_M_header", 8, base}});
    (*types)[set].arguments = {element, node};
    return set;
  };
  const TypePair set{map_of(&before, large_.before, 16), map_of(&now, large_.now, 64)};
  const uint64_t object = heap.Allocate(48), root = heap.Allocate(48), leaf = heap.Allocate(48);
  heap.Put(object + 16, root);     // _M_parent of the header
  heap.Put(root + 8, object + 8);  // back to the header
  heap.Put(root + 16, leaf);       // _M_left
  heap.Put(leaf + 8, root);
  heap.Put(leaf + 32, int32_t{8});
  CarryOver({before.PointerTo(set.before), now.PointerTo(set.now)}, object);
  EXPECT_EQ(Problem(), "");
  const uint64_t root_now = NowAt(object + 16), leaf_now = NowAt(root_now + 16);
  EXPECT_GE(root_now, kFreePages);
  EXPECT_GE(leaf_now, kFreePages);
  EXPECT_EQ(NowAt(leaf_now + 8), root_now);
  EXPECT_EQ(NowAt(root_now + 8), object + 8);
  EXPECT_EQ(NowAt(leaf_now + 32 + 56), 8u);
}

// The end of an array is where the next block begins.
TEST_F(Carry, MovesThePointerBehindAnArrayWithIt) {
  const uint64_t block = heap.Allocate(8 + 5 * 16), orders = block + 8;
  heap.Put(block, uint64_t{5});
  heap.Put(orders + 4 * 16, int32_t{6});
  heap.Allocate(200);
  CarryOver({{large_pointer_, orders + 5 * 16}, {large_pointer_, orders}});
  EXPECT_EQ(Problem(1), "");
  EXPECT_EQ(ArgumentNow(0), ArgumentNow(1) + 5 * 64);
  EXPECT_EQ(NowAt(ArgumentNow(1) - 8), 5u);
  EXPECT_EQ(NowAt(ArgumentNow(1) + 4 * 64 + 56), 6u);
}

// The vtable says which class it is.
TEST_F(Carry, FollowsVtables) {
  const auto shapes = [](TestingTypes* types, uint64_t size) {
    const uint32_t vtable = types->PointerTo(0);
    const uint32_t shape = types->Class("Shape", 8, {{"_vptr$Shape", 0, vtable, MemberRole::kVtable}});
    const uint32_t circle =
        types->Class("Circle", size, {{"Shape", 0, shape, MemberRole::kBase}, {"radius", size - 8, types->Long()}});
    (*types)[shape].derived = {circle};
    return types->PointerTo(shape);
  };
  const TypePair pointer{shapes(&before, 16), shapes(&now, 48)};
  const uint64_t circle = heap.Allocate(16);
  heap.Put(circle, uint64_t{0x404010});
  heap.Put(circle + 8, uint64_t{6});
  vtables[0x404010] = "Circle";
  CarryOver(pointer, circle);
  EXPECT_EQ(Problem(), "");
  EXPECT_EQ(NowAt(ArgumentNow()), 0x404010u);
  EXPECT_EQ(NowAt(ArgumentNow() + 40), 6u);
}

TEST_F(Carry, RenumbersEnumerators) {
  const TypePair colour{before.Enum("Colour", {"kRed", "kBlue"}), now.Enum("Colour", {"kNone", "kBlue", "kRed"})};
  const TypePair car{before.Class("Car", 8, {{"colour", 0, colour.before}}),
                     now.Class("Car", 8, {{"colour", 0, colour.now}})};
  const uint64_t red = heap.Allocate(8), odd = heap.Allocate(8);
  heap.Put(odd, uint32_t{17});
  const TypePair pointer{before.PointerTo(car.before), now.PointerTo(car.now)};
  CarryOver({{pointer, red}, {pointer, odd}});
  EXPECT_EQ(NowAt(red) & 0xffffffff, 2u);
  EXPECT_THAT(Problem(1), HasSubstr("a value of Colour has no name"));
}

TEST_F(Carry, RefusesValuesThatDoNotFit) {
  const TypePair item{before.Class("Item", 8, {{"price", 0, before.Long()}}),
                      now.Class("Item", 8, {{"price", 0, now.Int()}})};
  const uint64_t small = heap.Allocate(8), large = heap.Allocate(8);
  heap.Put(small, int64_t{-3});
  heap.Put(large, int64_t{1} << 40);
  const TypePair pointer{before.PointerTo(item.before), now.PointerTo(item.now)};
  CarryOver({{pointer, small}, {pointer, large}});
  EXPECT_EQ(static_cast<int32_t>(NowAt(small)), -3);
  EXPECT_THAT(Problem(1), HasSubstr("a value of long does not fit into int"));
}

// A hostile report's types may hold themselves, several times over.
// Another C++ library, or its debugging mode: all members are others, or there are bases that nobody has filled.
TEST_F(Carry, RefusesContainersOfAnotherLibrary) {
  const uint32_t size = before.Long(), size_now = now.Long();
  const uint32_t safe = now.Class("__gnu_debug::_Safe_container", 24, {{"version", 0, now.Int()}});
  const TypePair set{
      before.Class("std::bitset<8>", 16, {{"count", 8, size}}),
      now.Class("std::bitset<8>", 40,
                {{"__gnu_debug::_Safe_container", 0, safe, MemberRole::kBase}, {"count", 32, size_now}})};
  const TypePair holder{before.Class("Holder", 24, {{"id", 0, size}, {"all", 8, set.before}}),
                        now.Class("Holder", 48, {{"id", 0, size_now}, {"all", 8, set.now}})};
  CarryOver({before.PointerTo(holder.before), now.PointerTo(holder.now)}, heap.Allocate(24));
  EXPECT_THAT(Problem(), HasSubstr("std::bitset<8> has another layout in this build: it is of another C++ library"));
  EXPECT_THAT(Problem(), HasSubstr("std::bitset<8> keeps what it has in other members"));
}

// A function without arguments may read any variable.
TEST_F(Carry, SaysThatAVariableCannotBeCarriedOver) {
  types_.emplace(before.all(), now.all());
  const uint64_t first = heap.Allocate(64);
  RecordedObjects recorded;
  recorded.read = [this](uint64_t address, std::span<uint8_t> out) { return heap.Read(address, out); };
  recorded.heap_start = TestingHeap::kStart;
  recorded.heap_end = heap.end();
  const TypePair set{before.Class("std::set<int>", 8, {{"count", 0, before.Long()}}),
                     now.Class("std::set<int>", 16, {{"count", 8, now.Long()}})};
  types_.emplace(before.all(), now.all());
  Carrier carrier(&*types_, recorded);
  carrier.AddVariable(set, first, "all");
  EXPECT_THAT(carrier.Carry().problem, HasSubstr("std::set<int> cannot be carried over"));
  Carrier none(&*types_, recorded);
  EXPECT_EQ(none.Carry().problem, "");
}

TEST_F(Carry, EndsForTypesThatHoldThemselves) {
  const auto self = [](TestingTypes* types) {
    const uint32_t type = types->Class("Self", 8, {});
    for (const char* name : {"a", "b", "c", "d"}) SetMembers(&(*types)[type], {{name, 0, type}});
    return types->PointerTo(type);
  };
  CarryOver({{{self(&before), self(&now)}, heap.Allocate(8)}, {large_pointer_, NewLarge(1, 2)}});
  EXPECT_NE(Problem(), "");
}

TEST_F(Carry, RefusesAUnionThatChanged) {
  const TypePair any{before.Class("Any", 8, {{"number", 0, before.Long()}}, TypeForm::kUnion),
                     now.Class("Any", 16, {{"number", 8, now.Long()}}, TypeForm::kUnion)};
  CarryOver({before.PointerTo(any.before), now.PointerTo(any.now)}, heap.Allocate(8));
  EXPECT_THAT(Problem(), HasSubstr("Any cannot become Any"));
}

}  // namespace
}  // namespace recrash
