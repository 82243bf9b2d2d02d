#include "testgen/symbols/dwarf/names.h"

#include <gtest/gtest.h>

namespace recrash {
namespace {

TEST(Names, AreThoseThatPeopleWrite) {
  EXPECT_EQ(SimplifyName("std::vector<int, std::allocator<int> >"), "std::vector<int>");
  EXPECT_EQ(SimplifyName("std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"),
            "std::string");
  EXPECT_EQ(SimplifyName("std::__1::vector<std::__1::basic_string<char, std::__1::char_traits<char>, "
                         "std::__1::allocator<char>>, std::__1::allocator<std::__1::basic_string<char, "
                         "std::__1::char_traits<char>, std::__1::allocator<char>>>>"),
            "std::vector<std::string>");
  EXPECT_EQ(SimplifyName("std::map<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >, "
                         "std::vector<int, std::allocator<int> >, std::less<std::__cxx11::basic_string<char, "
                         "std::char_traits<char>, std::allocator<char> > >, std::allocator<std::pair<const "
                         "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >, "
                         "std::vector<int, std::allocator<int> > > > >"),
            "std::map<std::string, std::vector<int>>");
  EXPECT_EQ(SimplifyName("std::unique_ptr<Node, std::default_delete<Node> >"), "std::unique_ptr<Node>");
  EXPECT_EQ(SimplifyName("f(std::__cxx11::list<int, std::allocator<int> >&, char)"), "f(std::list<int>&, char)");
}

TEST(Names, KeepWhatIsNotADefault) {
  EXPECT_EQ(SimplifyName("std::vector<int, Arena<int> >"), "std::vector<int, Arena<int>>");
  EXPECT_EQ(SimplifyName("std::set<int, std::less<void> >"), "std::set<int, std::less<void>>");
  EXPECT_EQ(SimplifyName("Mine<int, std::allocator<int> >"), "Mine<int, std::allocator<int>>");
}

TEST(Names, OfOperatorsAreNoBrackets) {
  EXPECT_EQ(SimplifyName("A::operator<(A const&) const"), "A::operator<(A const&) const");
  EXPECT_EQ(SimplifyName("operator<< <int>(std::ostream&, B<int>)"), "operator<< <int>(std::ostream&, B<int>)");
  EXPECT_EQ(SimplifyName("A::operator->() const"), "A::operator->() const");
  EXPECT_EQ(SimplifyName("A<(x > 1)>::f()"), "A<(x > 1)>::f()");
}

TEST(Names, ThatAreBrokenStayAsTheyAre) {
  for (const char* name : {"", "<", ">", "a<", "a>b", "std::vector<int", "std::<>", "a<b<c<d>"})
    EXPECT_EQ(SimplifyName(name), name);
  EXPECT_EQ(SimplifyName(std::string(100000, '<')).size(), 100000u);
  EXPECT_EQ(SimplifyName("a" + std::string(3000, '<')).size(), 3001u);
}

TEST(Names, AreDemangled) {
  EXPECT_EQ(ReadableName("_ZN4Tree6insertEi"), "Tree::insert(int)");
  EXPECT_EQ(ReadableName("_ZL3foov.llvm.1234567"), "foo()");
  EXPECT_EQ(ReadableName("main"), "main");
  EXPECT_EQ(ReadableName("_Zgarbage"), "_Zgarbage");
}

}  // namespace
}  // namespace recrash
