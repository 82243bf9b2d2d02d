// std::optional: its value, where there is none.
//
// frames: Age Sum main
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

struct Person {
  std::string name;
#ifdef CHANGED
  std::optional<std::string> title;
#endif
  std::optional<int> born;
};

__attribute__((noinline)) int Age(const Person& person, int year) {
#ifdef FIXED
  if (!person.born) return 0;
#endif
  return year - person.born.value();  // split
}

// part
__attribute__((noinline)) int Sum(const std::vector<Person>& people, int year) {
  int sum = 0;
  for (const Person& person : people) sum += Age(person, year);
  return sum;
}
// end part

int main() {
  std::vector<Person> people(3);
  people[0].name = "Ada";
  people[0].born = 1815;
  people[1].name = "Grace";
  people[1].born = 1906;
  people[2].name = "nobody";
  std::printf("%d\n", Sum(people, 2000));
}
