// Types of two builds side by side: a type of the build that crashed and what the same thing is now.
//
//   TypePairs types(recorded.types, built.types);
//   if (const std::string& why = types.Difference({order, order_now}); !why.empty()) Skip(why);
//
// Types are paired from outside inwards: of two classes the members of equal name are a pair, of two pointers what they
// point to. A number, place 0, stands for a type of which nothing is known.
#ifndef RECRASH_TESTGEN_CARRY_TYPE_PAIRS_H_
#define RECRASH_TESTGEN_CARRY_TYPE_PAIRS_H_

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/report/type_layout.h"

namespace recrash {

// Places in the lists of types of the two builds.
struct TypePair {
  uint32_t before = 0;
  uint32_t now = 0;
  auto operator<=>(const TypePair&) const = default;
};

class TypePairs {
 public:
  // REQUIRES: the lists outlive the pairs; types in them lead only to places in the same list.
  TypePairs(const std::vector<TypeLayout>& before, const std::vector<TypeLayout>& now) : before_(before), now_(now) {}

  const TypeLayout& before(const TypePair& pair) const { return At(before_, pair.before); }
  const TypeLayout& now(const TypePair& pair) const { return At(now_, pair.now); }

  // In which way an object of the type lies otherwise now; what it only points to does not count. Empty: in none.
  const std::string& Difference(const TypePair& pair);

  // Whether the type is of another C++ library, or of one with other options, and has another size there: its members
  // say nothing of each other.
  bool IsOfOtherLibrary(const TypePair& pair);

  // The difference of a type that an object of this type may lead to, itself first; empty: there is none.
  const std::string& ChangeBehind(const TypePair& pair);

  // The classes that were found to differ so far.
  std::vector<TypePair> ChangedClasses() const;
  const TypeLayout& TypeNow(uint32_t place) const { return At(now_, place); }

  // For each member of the old type its pair in the new one, null where it is gone. Bases and vtables are members.
  using MemberPair = std::pair<const TypeMember*, const TypeMember*>;
  const std::vector<MemberPair>& Members(const TypePair& pair) const;

  // Two members, or bases, of which one may be the other under another name: the old class has one, the new class has
  // the other, of the same type. In a class of a library any two. Null: there are none.
  const MemberPair& MaybeRenamed(const TypePair& pair) const;

  // What an object of the type leads to beside its members: targets, arguments, derived classes.
  std::vector<TypePair> Behind(const TypePair& pair) const;

 private:
  static const TypeLayout& At(const std::vector<TypeLayout>& types, uint32_t place) {
    static const TypeLayout kNone;
    return place < types.size() ? types[place] : kNone;
  }
  std::string Compare(const TypePair& pair);
  MemberPair FindRenamed(const TypePair& pair) const;
  std::string FindChange(const TypePair& pair);
  std::string CompareScalars(const TypeLayout& before, const TypeLayout& now) const;
  std::string CompareMembers(const TypePair& pair);
  bool HasChangedArgument(const TypePair& pair);
  // An empty base takes no room, and compilers differ in whether they tell of it.
  bool HoldsNothing(const std::vector<TypeLayout>& types, const TypeMember& member, bool of_library,
                    int depth = 0) const;

  const std::vector<TypeLayout>& before_;
  const std::vector<TypeLayout>& now_;
  std::map<TypePair, std::string> differences_;
  std::map<TypePair, std::string> behind_;
  std::set<TypePair> of_other_library_;
  mutable std::map<TypePair, std::vector<MemberPair>> members_;
  mutable std::map<TypePair, MemberPair> renamed_;
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_CARRY_TYPE_PAIRS_H_
