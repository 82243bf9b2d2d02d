// Names and bases of C++ types, read from std::type_info as data by the layouts of the Itanium C++ ABI, so that nothing
// of a C++ runtime is called or linked; the same for libstdc++ and libc++.
#ifndef RECRASH_AGENT_CLIENT_TYPE_INFO_H_
#define RECRASH_AGENT_CLIENT_TYPE_INFO_H_

namespace recrash::client {

// Returns the mangled name, as type_info::name() does.
const char* TypeName(const void* type);

// Returns what() of the object if its type derives publicly from std::exception, else null. Calls the program's code.
const char* WhatOf(const void* type, void* object);

}  // namespace recrash::client

#endif  // RECRASH_AGENT_CLIENT_TYPE_INFO_H_
