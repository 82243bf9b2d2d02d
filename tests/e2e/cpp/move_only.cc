// A parameter that can only be moved: it has been moved before it is used.
//
// frames: Price Keep Buy main
#include <cstdio>
#include <memory>
#include <vector>

struct Ticket {
  int price;
  int seat;
};

using Owned = std::unique_ptr<Ticket>;

__attribute__((noinline)) int Price(const Owned& ticket) { return ticket->price; }  // split

__attribute__((noinline)) int Keep(std::vector<Owned>& kept, Owned ticket) {
#ifdef FIXED
  int price = Price(ticket);
  kept.push_back(std::move(ticket));
  return price;
#else
  kept.push_back(std::move(ticket));
  return Price(ticket);
#endif
}

__attribute__((noinline)) int Buy(std::vector<Owned>& kept, int count) {
  int paid = 0;
  for (int i = 0; i < count; ++i) paid += Keep(kept, std::make_unique<Ticket>(Ticket{20 + i, i}));
  return paid;
}

int main(int argc, char**) {
  std::vector<Owned> kept;
  std::printf("%d\n", Buy(kept, argc + 1));
}
