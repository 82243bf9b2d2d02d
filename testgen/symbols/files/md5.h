// MD5, by which DWARF 5 tells whether a source file is the one that was compiled. It guards against nothing else.
#ifndef RECRASH_TESTGEN_SYMBOLS_FILES_MD5_H_
#define RECRASH_TESTGEN_SYMBOLS_FILES_MD5_H_

#include <array>
#include <cstdint>
#include <string_view>

namespace recrash {

std::array<uint8_t, 16> Md5(std::string_view text);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_FILES_MD5_H_
