// CRC-32C (Castagnoli), as in iSCSI and ext4: finds every error of up to 32 neighbouring bits, so each flipped byte.
#ifndef RECRASH_AGENT_BASE_CRC32C_H_
#define RECRASH_AGENT_BASE_CRC32C_H_

#include <cstddef>
#include <cstdint>

namespace recrash {

// Returns the checksum of the bytes that `crc` covers and these behind them. Begin with 0.
uint32_t ExtendCrc32c(uint32_t crc, const void* data, size_t size);

}  // namespace recrash

#endif  // RECRASH_AGENT_BASE_CRC32C_H_
