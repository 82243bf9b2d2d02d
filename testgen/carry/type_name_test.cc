#include "testgen/carry/type_name.h"

#include <gtest/gtest.h>

#include <vector>

namespace recrash {
namespace {

// What clang and g++ wrote for the same types.
TEST(CommonTypeName, IsOneForAllCompilers) {
  const std::vector<std::pair<const char*, const char*>> same = {
      {"std::vector<long>", "std::vector<long int>"},
      {"std::tuple<Link *, std::default_delete<Link>>", "std::tuple<Link*, std::default_delete<Link> >"},
      {"std::span<const int, 18446744073709551615UL>", "std::span<int const, 18446744073709551615>"},
      {"const Ring<double, 8UL>&", "Ring<double, 8> const&"},
      {"std::function<int (const std::string &, int)>", "std::function<int(std::string const&, int)>"},
      {"std::aligned_storage<72UL, 8UL>::type", "std::aligned_storage<72, 8>::type"},
      {"std::_Invoker<std::tuple<void (Worker::*)(), Worker *>>",
       "std::_Invoker<std::tuple<void (Worker::*)(), Worker*> >"},
      {"unsigned long", "long unsigned int"},
      {"unsigned int", "unsigned"},
      {"short", "short int"},
      {"unsigned short const *", "const short unsigned int*"},
      {"const unsigned char *const", "unsigned char const* const"},
      {"std::pair<const std::string *, bool>", "std::pair<std::string const*, bool>"},
      {"Call<(lambda at /a/b.cc:3:4)>", "Call<(lambda at /c/b.cc:30:40)>"},
      {"std::tuple<(lambda at /a/b.cc:3:4)>", "std::tuple<main(int, char**)::<lambda()> >"},
      {"A<int, (lambda at b.cc:3:4), long>",
       "A<int, ns::Box<int>::Count<A<int> >(int (*)(int)) const::<lambda(int, A<int>)>, long int>"},
      {"A<(lambda at b.cc:3:4)>", "A<Box::<lambda(int)> >"},
  };
  for (const auto& [clang, gcc] : same) EXPECT_EQ(CommonTypeName(clang), CommonTypeName(gcc));
}

TEST(CommonTypeName, TellsOtherTypesApart) {
  const std::vector<std::pair<const char*, const char*>> other = {
      {"std::vector<long>", "std::vector<long long>"},
      {"std::vector<char>", "std::vector<signed char>"},
      {"std::vector<long>", "std::vector<unsigned long>"},
      {"std::vector<double>", "std::vector<long double>"},
      {"A<const char *>", "A<char *const>"},
      {"A<int &>", "A<int &&>"},
      {"A<8UL>", "A<80UL>"},
      {"A<int>::B", "A<int>::C"},
      {"A<int>::B<int>", "A<int>::B<char>"},
      {"A<B, C>", "A<B<C>>"},
      {"Call<(lambda at /a/b.cc:3:4)>", "Call<int>"},
      {"x", ""},
  };
  for (const auto& [one, another] : other) EXPECT_NE(CommonTypeName(one), CommonTypeName(another)) << one;
}

TEST(CommonTypeName, EndsForAnyText) {
  for (const char* text : {"", "<", ">", "const", "A<", "A<B", "A::", "::", "(lambda at ", "<lambda(", "::<lambda()>",
                           "):<lambda(>", "<<<<>>>>", "const const", "1UL2"})
    EXPECT_LT(CommonTypeName(text).size(), 100u) << text;
}

// A lambda is known by its place among those of its function; where their number has changed, by its line.
TEST(IsSameTypeName, TellsLambdasApart) {
  const std::string only = "(lambda 1 of 1 in Count, line +3 of a.cc)",
                    first = "(lambda 1 of 2 in Count, line +2 of a.cc)",
                    second = "(lambda 2 of 2 in Count, line +3 of a.cc)";
  EXPECT_TRUE(IsSameTypeName(only, only));
  EXPECT_TRUE(IsSameTypeName(only, "(lambda 1 of 1 in Count, line +4 of a.cc)"));
  EXPECT_TRUE(IsSameTypeName(only, second));
  EXPECT_FALSE(IsSameTypeName(only, first));
  EXPECT_FALSE(IsSameTypeName(first, second));
  EXPECT_FALSE(IsSameTypeName(first, "(lambda 1 of 2 in Count, line +4 of a.cc)")) << "they may have changed places";
  EXPECT_FALSE(IsSameTypeName(only, "(lambda 1 of 1 in Sum, line +3 of a.cc)"));
  EXPECT_FALSE(IsSameTypeName(only, "Count"));
  EXPECT_TRUE(IsSameTypeName("(anonymous class)", only));
  EXPECT_TRUE(IsLambdaInSamePlace(only, "(lambda 1 of 1 in Count, line +4 of a.cc)"));
  EXPECT_FALSE(IsLambdaInSamePlace(only, second));
  EXPECT_FALSE(IsLambdaInSamePlace(first, second));
  EXPECT_FALSE(IsLambdaInSamePlace("Count", "Count"));
  for (const char* odd : {"(lambda ", "(lambda  in ", "(lambda 1 in , line  of ", "(lambda 1 of 1 in , line "})
    EXPECT_TRUE(IsSameTypeName(odd, odd));
}

}  // namespace
}  // namespace recrash
