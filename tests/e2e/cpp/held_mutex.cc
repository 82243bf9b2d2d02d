// The failing thread holds a mutex.
//
// frames: Withdraw Transfer main
// flags: -pthread
#include <cstdio>
#include <mutex>
#include <string>
#include <vector>

struct Account {
  std::mutex mutex;
#ifdef CHANGED
  std::string currency = "EUR";
#endif
  std::vector<int>* entries = nullptr;
  int balance = 100;
};

__attribute__((noinline)) int Withdraw(Account& account, int amount) {
  std::lock_guard lock(account.mutex);
  account.balance -= amount;
#ifdef FIXED
  if (account.entries)
#endif
    account.entries->push_back(-amount);  // split
  return account.balance;
}

__attribute__((noinline)) int Transfer(Account& from, Account& to, int amount) {
  int left = Withdraw(from, amount);
  return left + Withdraw(to, -amount);
}

int main() {
  Account first, second;
  std::vector<int> entries;
  first.entries = &entries;
  std::printf("%d\n", Transfer(first, second, 30));
}
