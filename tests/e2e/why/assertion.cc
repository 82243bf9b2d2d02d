// An assertion says that a sum is wrong; one of its parts was not counted.
#undef NDEBUG
#include <cassert>
#include <cstdio>

struct Ledger {
  int in = 0;
  int out = 0;
  int balance = 0;
};

__attribute__((noinline)) void Pay(Ledger* ledger, int amount) {
  ledger->out += amount;
  if (amount < 100) ledger->balance -= amount;  // cause
}

__attribute__((noinline)) void Earn(Ledger* ledger, int amount) {
  ledger->in += amount;
  ledger->balance += amount;
}

__attribute__((noinline)) void Check(const Ledger& ledger) {
  const int expected = ledger.in - ledger.out;
  assert(ledger.balance == expected);
}

int main() {
  Ledger ledger;
  Earn(&ledger, 500);
  Pay(&ledger, 20);
  Check(ledger);
  Pay(&ledger, 200);
  Check(ledger);
  std::printf("%d\n", ledger.balance);
}
