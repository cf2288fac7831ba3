// Hostile .tpz streams: read in every way there is, and with checksums made right so that a changed
// byte reaches what lies behind them.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "stream/reader.h"
#include "tensorpress/stream.h"

namespace tensorpress::fuzz {

using Bytes = std::vector<std::byte>;

/// Streams that claim more than this are refused by all readers.
inline constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 24;

Result<Tensor> read_in_memory(std::span<const std::byte> stream);
Result<Tensor> read_as_file(std::span<const std::byte> stream,
                            const DecompressOptions& options = {});
/// Chunks found without an index.
Result<Tensor> read_without_footer(std::span<const std::byte> stream,
                                   const DecompressOptions& options);
Result<Tensor> read_as_pipe(std::span<const std::byte> stream,
                            const DecompressOptions& options = {});

/// The same sections and chunks with right checksums and a right trailer, as far as the bytes can
/// be taken for a stream of either version; in version 1 also places in FOOT.
Bytes repaired(std::span<const std::byte> stream);

}  // namespace tensorpress::fuzz
