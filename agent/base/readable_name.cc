#include "agent/base/readable_name.h"

#include <cxxabi.h>
#include <string.h>

#include <cstdlib>
#include <memory>

namespace recrash {

std::string Demangle(const std::string& linkage_name) {
  const std::string plain = linkage_name.substr(0, linkage_name.find(".llvm."));
  return plain.starts_with("_Z") ? DemangleType(plain) : plain;  // a C function named "i" is not a type
}

std::string DemangleType(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(::abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                    std::free);
  return text ? text.get() : name;
}

std::string SignalName(int signal) {
  const char* name = sigabbrev_np(signal);
  return name ? std::string("SIG") + name : "signal " + std::to_string(signal);
}

}  // namespace recrash
