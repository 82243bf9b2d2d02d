// Names of functions without what a reader, or another compiler, would write otherwise.
//
//   PlainFunction("ns::Tree<int>::insert(int) const")    // "ns::Tree::insert"
//   SourceName("main::{lambda(int)#1}::operator()(int)") // "main::{lambda}::operator()"
#ifndef RECRASH_TESTGEN_SYMBOLS_DWARF_PLAIN_FUNCTION_H_
#define RECRASH_TESTGEN_SYMBOLS_DWARF_PLAIN_FUNCTION_H_

#include <string>

namespace recrash {

// Returns the name without parameters, template arguments and unnamed namespaces.
std::string PlainFunction(const std::string& demangled);

// The same, by which a function of one build is found in another: compilers number lambdas in ways of their own.
std::string SourceName(const std::string& demangled);

// "(anonymous namespace)::A {b_ = 1}" becomes "A {b_ = 1}".
std::string WithoutUnnamedNamespaces(std::string text);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_DWARF_PLAIN_FUNCTION_H_
