// Settles a batch of orders: second_chance 300 450 250
#include <cstdio>
#include <cstdlib>

struct Order {
  long cents;
  Order* next;
};

struct Batch {
  Order* first;
};

struct Account {
  long limit;  // of one booking
  long balance;
};

__attribute__((noinline)) long Book(Account* account, long cents) {
  account->balance += cents;
  return account->balance;
}

__attribute__((noinline)) Account* FindAccount(Account* accounts, int count, long cents) {
  for (int i = 0; i < count; ++i)
    if (cents <= accounts[i].limit) return &accounts[i];
  return nullptr;
}

// Takes the batch apart before it knows where the sum goes.
__attribute__((noinline)) long Settle(Batch* batch, Account* accounts, int count) {
  long sum = 0;
  while (Order* order = batch->first) {
    batch->first = order->next;
    sum += order->cents;
    delete order;
  }
  if (sum == 0) return 0;
  return Book(FindAccount(accounts, count, sum), sum) + 1;
}

int main(int count, char** arguments) {
  Account accounts[] = {{100, 0}, {500, 0}};
  Batch batch = {nullptr};
  for (int i = 1; i < count; ++i) batch.first = new Order{std::atol(arguments[i]), batch.first};
  std::printf("%ld\n", Settle(&batch, accounts, 2));
}
