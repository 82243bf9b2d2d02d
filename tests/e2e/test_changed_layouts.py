#!/usr/bin/env python3
"""Tests that were kept meet a build in which a class lies otherwise than in the build that crashed.

Each program crashes in Read, on a null pointer that Use takes from an object; Use leaves with status 3 if a member has
another value than main has given it. Built with -DCHANGED the object's class has another layout and the bug is there:
the tests have to be red. Built with -DFIXED the layout is changed as well, and the bug is gone: they have to be green.
"""

import harness

HEAD = """
#include <array>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>
#ifdef FIXED
#define CHANGED
#endif
#ifdef CHANGED
#define NOW(...) __VA_ARGS__
#define BEFORE(...)
#else
#define NOW(...)
#define BEFORE(...) __VA_ARGS__
#endif
#define OUTLINE __attribute__((noinline))
#define EXPECT(...) if (!(__VA_ARGS__)) std::exit(3)
OUTLINE int Read(const int* cell) {
#ifdef FIXED
  if (!cell) return 0;
#endif
  return *cell + 1;
}
"""

# By name: what differs, Use's parameter, Use's body, and what main calls Outer with.
PROGRAMS = {
    "member_added": """
struct Order { NOW(long currency = 0;) int id = 0; const int* cell = nullptr; Order* next = nullptr; };
OUTLINE int Use(Order* order) {
  int sum = 0;
  for (Order* at = order; at; at = at->next) sum = sum * 10 + at->id;
  EXPECT(sum == 321);
  return Read(order->cell) + 1;
}
OUTLINE int Outer(Order* order) { int got = Use(order); std::printf("%d", got); return got; }
int main() {
  Order* order = nullptr;
  for (int i = 1; i <= 3; ++i) { Order* made = new Order; made->id = i; made->next = order; order = made; }
  return Outer(order);
}
""",
    "object_grown": """
struct Order { NOW(char name[200] = {};) int id = 7; const int* cell = nullptr; int* self = &id; };
struct Shop { Order* first; Order* same; int* id; };
OUTLINE int Use(Shop& shop) {
  EXPECT(shop.first == shop.same && shop.id == &shop.first->id && *shop.first->self == 7 && shop.first->self == shop.id);
  const int got = Read(shop.first->cell) + 1;
  shop.first->id = 8;
  EXPECT(*shop.id == 8);
  return got;
}
OUTLINE int Outer(Shop& shop) { int got = Use(shop); delete shop.first; std::printf("%d", got); return got; }
int main() { Order* order = new Order; Shop* shop = new Shop{order, order, &order->id}; return Outer(*shop); }
""",
    "member_widened": """
struct Order { BEFORE(int) NOW(long) balance = -5; BEFORE(unsigned) NOW(unsigned long) count = 4000000000u;
  BEFORE(float) NOW(double) rate = 0.5; const int* cell = nullptr; };
OUTLINE int Use(const Order& order) {
  EXPECT(order.balance == -5 && order.count == 4000000000u && order.rate == 0.5);
  return Read(order.cell) + 1;
}
OUTLINE int Outer(const Order& order) { int got = Use(order); std::printf("%d", got); return got; }
int main() { return Outer(*new Order); }
""",
    "members_reordered": """
struct Order {
  NOW(const int* cell = nullptr; short c = 3; int b = 2; char a = 1;)
  BEFORE(char a = 1; double gone = 8; int b = 2; short c = 3; const int* cell = nullptr;)
  OUTLINE int Use() { EXPECT(a == 1 && b == 2 && c == 3); return Read(cell) + 1; }
  OUTLINE int Outer() { int got = Use(); std::printf("%d", got); return got; }
};
int main() { return (new Order)->Outer(); }
""",
    "base_added": """
struct Named { std::string name = "n"; int length = 5; };
struct Counted { long count = 0; };
struct Order : NOW(Counted,) Named { int id = 9; const int* cell = nullptr; };
OUTLINE int Use(Order& order) {
  EXPECT(order.name == "n" && order.length == 5 && order.id == 9);
  const int got = Read(order.cell) + 1;
  order.name += "; of a shop that has a longer name";
  EXPECT(order.name.size() > 30);
  return got;
}
OUTLINE int Outer(Order& order) { int got = Use(order); std::printf("%d", got); return got; }
int main() { return Outer(*new Order); }
""",
    "vector_of_grown": """
struct Order { int id; NOW(std::string note; long total = 0;) const int* cell = nullptr; };
OUTLINE int Use(std::vector<Order>& orders, Order& one) {
  EXPECT(orders.size() == 3 && orders[0].id == 1 && orders[2].id == 3 && &one == &orders[1]);
  const int got = Read(one.cell) + 1;
  orders.push_back(orders[0]);
  EXPECT(orders.size() == 4 && orders[3].id == 1 && orders[1].id == 2);
  return got;
}
OUTLINE int Outer(std::vector<Order>& orders) { int got = Use(orders, orders[1]); std::printf("%d", got); return got; }
int main() {
  auto* orders = new std::vector<Order>;
  for (int i = 1; i <= 3; ++i) { Order order; order.id = i; orders->push_back(order); }
  return Outer(*orders);
}
""",
    "unique_pointer": """
struct Order { NOW(long first[8] = {};) int id = 4; const int* cell = nullptr; };
struct Shop { std::unique_ptr<Order> order = std::make_unique<Order>(); int number = 6; };
OUTLINE int Use(Shop& shop) { EXPECT(shop.order->id == 4 && shop.number == 6); return Read(shop.order->cell) + 1; }
OUTLINE int Outer(Shop& shop) { int got = Use(shop); shop.order.reset(); std::printf("%d", got); return got; }
int main() { return Outer(*new Shop); }
""",
    "shared_pointer": """
struct Order { NOW(long first[8] = {};) int id = 4; const int* cell = nullptr; };
OUTLINE int Use(std::shared_ptr<Order>& order, std::shared_ptr<Order>& other) {
  EXPECT(order->id == 4 && order.use_count() == 2 && other == order);
  return Read(order->cell) + 1;
}
OUTLINE int Outer(std::shared_ptr<Order>& order, std::shared_ptr<Order>& other) {
  int got = Use(order, other);
  std::printf("%d", got);
  order.reset();
  return got + other->id;
}
int main() {
  auto* order = new std::shared_ptr<Order>(std::make_shared<Order>());
  auto* other = new std::shared_ptr<Order>(*order);
  return Outer(*order, *other);
}
""",
    "map_of_grown": """
struct Order { NOW(std::string note; long total = 0;) int id; const int* cell = nullptr; };
OUTLINE int Use(std::map<std::string, Order>& orders) {
  EXPECT(orders.size() == 3 && orders.at("b").id == 2);
  int sum = 0;
  for (auto& [name, order] : orders) sum = sum * 10 + order.id;
  EXPECT(sum == 123);
  const int got = Read(orders.at("c").cell) + 1;
  orders["d"].id = 4;
  orders.erase("a");
  EXPECT(orders.begin()->second.id == 2 && orders.rbegin()->second.id == 4);
  return got;
}
OUTLINE int Outer(std::map<std::string, Order>& orders) { int got = Use(orders); std::printf("%d", got); return got; }
int main() {
  auto* orders = new std::map<std::string, Order>;
  for (int i = 1; i <= 3; ++i) (*orders)[std::string(1, 'a' + i - 1)].id = i;
  return Outer(*orders);
}
""",
    "list_of_grown": """
struct Order { NOW(long total = 0;) int id; const int* cell = nullptr; };
OUTLINE int Use(std::list<Order>& orders) {
  int sum = 0;
  for (Order& order : orders) sum = sum * 10 + order.id;
  EXPECT(sum == 123);
  const int got = Read(orders.front().cell) + 1;
  orders.pop_front();
  EXPECT(orders.front().id == 2);
  return got;
}
OUTLINE int Outer(std::list<Order>& orders) { int got = Use(orders); std::printf("%d", got); return got; }
int main() {
  auto* orders = new std::list<Order>;
  for (int i = 1; i <= 3; ++i) { Order order; order.id = i; orders->push_back(order); }
  return Outer(*orders);
}
""",
    "hash_table_of_grown": """
struct Order { int id; NOW(long total[4] = {};) const int* cell = nullptr; };
OUTLINE int Use(std::unordered_map<int, Order>& orders) {
  EXPECT(orders.size() == 20 && orders.at(7).id == 8 && orders.at(19).id == 20);
  const int got = Read(orders.at(3).cell) + 1;
  orders.erase(7);
  EXPECT(orders.count(7) == 0 && orders.at(8).id == 9);
  return got;
}
OUTLINE int Outer(std::unordered_map<int, Order>& orders) { int got = Use(orders); std::printf("%d", got); return got; }
int main() {
  auto* orders = new std::unordered_map<int, Order>;
  for (int i = 0; i < 20; ++i) (*orders)[i].id = i + 1;
  return Outer(*orders);
}
""",
    "derived_grown": """
struct Shape { virtual ~Shape() {} virtual int Sides() const = 0; NOW(virtual long Area() const { return 1; }) NOW(long colour = 0;) const int* cell = nullptr; };
struct Square : Shape { int side = 2; int Sides() const override { return 4 * (side == 2); } };
struct Circle : Shape { NOW(long centre[6] = {};) int radius = 3; int Sides() const override { return radius == 3 ? 1 : 99; } };
OUTLINE int Use(std::vector<std::unique_ptr<Shape>>& shapes) {
  EXPECT(shapes.size() == 2 && shapes[0]->Sides() == 4 && shapes[1]->Sides() == 1);
  return Read(shapes[1]->cell) + 1;
}
OUTLINE int Outer(std::vector<std::unique_ptr<Shape>>& shapes) {
  int got = Use(shapes);
  shapes.clear();
  std::printf("%d", got);
  return got;
}
int main() {
  auto* shapes = new std::vector<std::unique_ptr<Shape>>;
  shapes->push_back(std::make_unique<Square>());
  shapes->push_back(std::make_unique<Circle>());
  return Outer(*shapes);
}
""",
    "variable_changed": """
struct Order { NOW(long currency = 0;) int id = 0; const int* cell = nullptr; };
struct Shop { NOW(std::vector<int> log;) std::vector<Order> orders; int open = 0; };
static Shop shop;
static Order* best;
OUTLINE int Use(int id) {
  EXPECT(shop.open == 5 && shop.orders.size() == 2 && shop.orders[1].id == id && best == &shop.orders[1]);
  return Read(best->cell) + 1;
}
OUTLINE int Outer(int id) { int got = Use(id); std::printf("%d", got); return got; }
int main() {
  shop.orders.resize(2);
  shop.orders[1].id = 8;
  shop.open = 5;
  best = &shop.orders[1];
  return Outer(8);
}
""",
    "local_changed": """
struct Order { NOW(long currency[20] = {};) int id = 3; const int* cell = nullptr; int count[4] = {1, 2, 3, 4}; };
struct View { const Order& order; const int* count; };
OUTLINE int Use(const View& view, const Order& order) {
  EXPECT(&view.order == &order && order.id == 3 && view.count == &order.count[2] && *view.count == 3);
  return Read(order.cell) + 1;
}
OUTLINE int Outer(const View& view) { int got = Use(view, view.order); std::printf("%d", got); return got; }
int main() { Order order; View view = {order, &order.count[2]}; return Outer(view); }
""",
    "local_array": """
struct Order { NOW(long currency = 0;) int id = 3; const int* cell = nullptr; };
OUTLINE int Use(const Order* orders, const Order* last) {
  EXPECT(last - orders == 3 && orders[0].id == 3 && last->id == 5 && last[-1].id == 3);
  return Read(orders[0].cell) + 1;
}
OUTLINE int Outer(const Order* orders, const Order* last) { int got = Use(orders, last); std::printf("%d", got); return got; }
int main() { Order orders[4]; orders[3].id = 5; return Outer(orders, orders + 3); }
""",
    "local_std_array": """
struct Order { NOW(long currency[9] = {};) int id = 3; const int* cell = nullptr; };
OUTLINE int Use(const Order* last, const Order* other) {
  EXPECT(last->id == 5 && last[-1].id == 3 && last[-3].id == 2 && other->id == 8);
  return Read(last->cell) + 1;
}
OUTLINE int Outer(const Order* last, const Order* other) { int got = Use(last, other); std::printf("%d", got); return got; }
int main() {
  std::array<std::array<Order, 2>, 2> orders;
  orders[0][0].id = 2;
  orders[1][1].id = 5;
  int got = 0;
  { Order first; first.id = 7; got += Read(first.cell = &first.id) - 8; }
  { Order other; other.id = 8; got += Outer(&orders[1][1], &other); }
  return got;
}
""",
    "enum_renumbered": """
enum Colour { NOW(kNone, kBlack,) kRed, kGreen, kBlue };
enum class State : char { NOW(kClosed, kOpen) BEFORE(kOpen, kClosed) };
struct Order { Colour colour = kGreen; State state = State::kClosed; const int* cell = nullptr; };
OUTLINE int Use(const Order& order) {
  EXPECT(order.colour == kGreen && order.state == State::kClosed);
  return Read(order.cell) + 1;
}
OUTLINE int Outer(const Order& order) { int got = Use(order); std::printf("%d", got); return got; }
int main() { return Outer(*new Order); }
""",
    "array_of_grown": """
struct Order { int id = 0; NOW(long total = 0;) const int* cell = nullptr; ~Order() { id = -1; } };
struct Shop { Order* orders = new Order[5]; Order* last = orders + 4; Order* end = orders + 5; };
OUTLINE int Use(Shop& shop) {
  int sum = 0;
  for (Order* order = shop.orders; order != shop.end; ++order) sum = sum * 10 + order->id;
  EXPECT(sum == 12345 && shop.last->id == 5);
  return Read(shop.last->cell) + 1;
}
OUTLINE int Outer(Shop& shop) { int got = Use(shop); delete[] shop.orders; std::printf("%d", got); return got; }
int main() { Shop* shop = new Shop; for (int i = 0; i < 5; ++i) shop->orders[i].id = i + 1; return Outer(*shop); }
""",
    "nested_and_bits": """
struct Flags { unsigned NOW(more : 9, ) open : 3, paid : 1; int signed_bits : 5; };
struct Inner { NOW(long currency = 0;) Flags flags = {}; short code = 6; };
struct Order { Inner inner[2]; std::string name = "a name that is long enough for the heap"; const int* cell = nullptr; };
OUTLINE int Use(Order& order) {
  EXPECT(order.inner[1].flags.open == 5 && order.inner[1].flags.paid == 1 && order.inner[1].flags.signed_bits == -3);
  EXPECT(order.inner[0].code == 6 && order.name.size() == 39);
  return Read(order.cell) + 1;
}
OUTLINE int Outer(Order& order) { int got = Use(order); std::printf("%d", got); return got; }
int main() {
  Order* order = new Order;
  order->inner[1].flags.open = 5;
  order->inner[1].flags.paid = 1;
  order->inner[1].flags.signed_bits = -3;
  return Outer(*order);
}
""",
}

# What cannot be carried over, and the words that say so.
REFUSED = {
    "untyped_pointer": ("""
struct Order { NOW(long first[8] = {};) int id = 4; const int* cell = nullptr; };
struct Shop { void* order = new Order; int number = 6; };
OUTLINE int Use(Shop& shop) { EXPECT(static_cast<Order*>(shop.order)->id == 4); return Read(static_cast<Order*>(shop.order)->cell) + 1; }
OUTLINE int Outer(Shop& shop, Order* other) { int got = Use(shop); std::printf("%d", got + other->id); return got; }
int main() { return Outer(*new Shop, new Order); }
""", "untyped pointer"),
    "union_changed": ("""
union Any { long number; NOW(char text[40];) const int* cell; };
struct Order { int id = 4; Any any; };
OUTLINE int Use(Order& order) { EXPECT(order.id == 4); return Read(order.any.cell) + 1; }
OUTLINE int Outer(Order& order) { int got = Use(order); std::printf("%d", got); return got; }
int main() { Order* order = new Order; order->any.cell = nullptr; return Outer(*order); }
""", "union Any"),
    "pool": ("""
struct Order { NOW(long first[8] = {};) int id = 4; const int* cell = nullptr; };
OUTLINE int Use(Order& order) { EXPECT(order.id == 4); return Read(order.cell) + 1; }
OUTLINE int Outer(Order& order) { int got = Use(order); std::printf("%d", got); return got; }
int main() { char* pool = static_cast<char*>(std::malloc(1000)); return Outer(*new (pool + 160) Order); }
""", "a part of a block of the heap"),
    "parameter_by_value": ("""
struct Order { NOW(long currency = 0;) int id = 4; const int* cell = nullptr; };
OUTLINE int Use(Order order) { EXPECT(order.id == 4); return Read(order.cell) + 1; }
OUTLINE int Outer(Order order) { int got = Use(order); std::printf("%d", got); return got; }
int main() { return Outer(Order()); }
""", "the argument `order` cannot be carried over"),
    "intrusive_list": ("""
struct Node { Node* next = nullptr; };
struct Order { NOW(long first[8] = {};) int id = 4; const int* cell = nullptr; Node node; };
struct Queue { Node* first; };
static Order* FromNode(Node* node) { return reinterpret_cast<Order*>(reinterpret_cast<char*>(node) - __builtin_offsetof(Order, node)); }
OUTLINE int Use(Queue& queue, Order* other) { Order* order = FromNode(queue.first); EXPECT(order->id == 4 && other->id == 4); return Read(order->cell) + 1; }
OUTLINE int Outer(Queue& queue, Order* other) { int got = Use(queue, other); std::printf("%d", got); return got; }
int main() { Order* order = new Order; return Outer(*new Queue{&order->node}, new Order); }
""", "what may be an object of Order"),
    "mapped_array": ("""
#include <sys/mman.h>
struct Order { NOW(long currency = 0;) int id = 3; const int* cell = nullptr; };
OUTLINE int Use(const Order* orders, int count) { EXPECT(orders[count - 1].id == 3); return Read(orders[0].cell) + 1; }
OUTLINE int Outer(const Order* orders, int count) { int got = Use(orders, count); std::printf("%d", got); return got; }
int main() {
  void* room = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return Outer(new (room) Order[4], 4);
}
""", "may be one of an array"),
    "function_object": ("""
struct Order { NOW(long first[8] = {};) int id = 4; const int* cell = nullptr; };
struct Job { std::function<int()> run; };
OUTLINE int Use(Job& job, Order* order) { EXPECT(order->id == 4); return job.run() + 1; }
OUTLINE int Outer(Job& job, Order* order) { int got = Use(job, order); std::printf("%d", got); return got; }
int main() { Order* order = new Order; return Outer(*new Job{[order] { return Read(order->cell); }}, order); }
""", "untyped pointer"),
}


class Layouts(harness.Workspace):
    def reproduced(self, text, level):
        """The program of the crash, and tests of it."""
        program = self.compile_text(HEAD + text, flags=(level, "-g"))
        report = self.crash(program, died_of=harness.signal.SIGSEGV)
        self.assert_reproduced(self.reproduce(program, report=report), "Use", "Outer")

    def verdicts(self, text, *flags):
        (self.path / "now").mkdir(exist_ok=True)
        program = self.compile_text(HEAD + text, output="now/program", flags=(*flags, "-g"))
        self.output = self.run_command("recrash", "verify", "tests", "--program", program, "--json", "now.json", expect=None)
        frames = harness.json.loads((self.path / "now.json").read_text())["frames"]
        return {harness.short_name(frame["function"]): frame for frame in frames}

    def check(self, text, level):
        self.reproduced(text, level)
        for flag, expected in (("-DCHANGED", "reproduced"), ("-DFIXED", "returned")):
            frames = self.verdicts(text, level, flag)
            for function in ("Use", "Outer"):
                self.assertEqual(frames[function]["verdict"], expected, f"{flag} {level} {frames[function]}")

    def check_refused(self, text, why, level):
        self.reproduced(text, level)
        for flag in ("-DCHANGED", "-DFIXED"):
            frame = self.verdicts(text, level, flag)["Use"]
            self.assertEqual(frame["verdict"], "cannot replay", f"{flag} {level} {frame}")
            self.assertIn(why, frame["note"])


def add_cases(cls, programs, check):
    for name, program in programs.items():
        for level in ("O0", "O2"):
            def case(self, program=program, level=level):
                check(self, program, f"-{level}")
            setattr(cls, f"test_{name}_{level}", case)


class Carried(Layouts):
    pass


class Refused(Layouts):
    pass


add_cases(Carried, PROGRAMS, lambda self, text, level: self.check(text, level))
add_cases(Refused, REFUSED, lambda self, program, level: self.check_refused(program[0], program[1], level))


if __name__ == "__main__":
    harness.main()
