// pack and unpack of tensorpress/pack.h on several threads: values are cut where their packed bytes
// may be cut, and every thread has a part. Bytes and values do not depend on the number of threads.
#pragma once

#include <cstddef>
#include <span>

#include "tensorpress/pack.h"

namespace tensorpress {

/// not_representable if that is so of one part. A mask is one part.
template <class Options>
Result<PackOutcome> pack_in_parts(DType dtype, std::span<const std::byte> values,
                                  const Options& options, std::span<std::byte> packed,
                                  std::size_t threads);

/// With `signs` (empty: none) the values agree with them in the end, as after restore_signs.
template <class Options>
Result<void> unpack_in_parts(DType dtype, std::span<const std::byte> packed, const Options& options,
                             std::span<const std::byte> signs, std::span<std::byte> values,
                             std::size_t threads);

Result<void> restore_signs_in_parts(DType dtype, std::span<const std::byte> signs,
                                    std::span<std::byte> values, std::size_t threads);

}  // namespace tensorpress
