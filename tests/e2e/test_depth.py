"""Mode full one level deeper: what a function used through a pointer of its argument is as it was on entry."""

import signal

import harness

# On entry the account has four coins. By the time of the crash they are spent, and called again Settle would return.
SOURCE = """
struct Purse { long owner; int coins; };
struct Account { int number; Purse* purse; };
__attribute__((noinline)) void Spend(Account* account, int coins) { account->purse->coins -= coins; }
__attribute__((noinline)) int Settle(Account* account) {
  const int coins = account->purse->coins;
  Spend(account, coins);
  volatile int* receipt = coins > 0 ? nullptr : &account->number;
  return *receipt + coins;
}
int main() {
  Purse purse{7, 4};
  Account account{1, &purse};
  return Settle(&account) + purse.coins + 1;
}
"""

# Here the account itself says whether Settle fails; what it points to has changed as well, and is beside the matter.
SHALLOW = SOURCE.replace("account->purse->coins -= coins;", "account->number = 0; account->purse->coins -= coins;").replace(
    "const int coins = account->purse->coins;", "const int coins = account->purse->coins, number = account->number;").replace(
    "coins > 0 ?", "number > 0 ?")


class Depth(harness.Workspace):
    def settle(self, depth, level, source=SOURCE):
        flags = (level, "-g", "-recrash-mode=full", f"-recrash-depth={depth}")
        program = self.compile_text(source, output=f"program{depth}", flags=flags)
        report = self.crash(program, died_of=signal.SIGSEGV)
        result = self.reproduce(program, "--derive=none", report=report, expect=None)
        return next(frame for frame in result["frames"] if harness.short_name(frame["function"]) == "Settle")

    def test_two_levels_reproduce_what_one_does_not(self):
        self.assertEqual(self.settle(1, "-O2")["verdict"], "returned")
        frame = self.settle(2, "-O2")
        self.assertEqual((frame["verdict"], frame["depth"]), ("reproduced", 2))

    def test_no_deeper_than_it_takes(self):
        frame = self.settle(2, "-O2", SHALLOW)
        self.assertEqual((frame["verdict"], frame["depth"]), ("reproduced", 1))

    def test_also_without_optimisation(self):
        self.assertEqual(self.settle(2, "-O0")["verdict"], "reproduced")


if __name__ == "__main__":
    harness.main()
