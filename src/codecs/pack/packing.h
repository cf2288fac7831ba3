// The work behind tensorpress/pack.h with the instruction set given, for the public calls and for
// the codecs quantize, cast and mask. Arguments have been checked; docs/format.md has the bytes.
#pragma once

#include <cstddef>
#include <span>

#include "base/cpu.h"
#include "tensorpress/pack.h"

namespace tensorpress::packing {

/// Which dtypes the options take, or what is wrong with the options themselves.
Result<void> check(DType dtype, const QuantizeOptions& options);
Result<void> check(DType dtype, const CastOptions& options);
Result<void> check(DType dtype, const MaskOptions& options);
Result<void> check(DType dtype, const SignOptions& options);

/// The largest number of a type.
float largest_of(CastType type);

/// Packed groups whose grid is not finite, which pack() never makes: what NaN and infinity become
/// would depend on the instruction set.
Result<void> check_groups(const std::byte* packed, std::size_t count,
                          const QuantizeOptions& options);

/// False: not_representable.
bool pack(Isa isa, DType dtype, std::span<const std::byte> values, const QuantizeOptions& options,
          std::byte* packed);
bool pack(Isa isa, DType dtype, std::span<const std::byte> values, const CastOptions& options,
          std::byte* packed);
bool pack(Isa isa, DType dtype, std::span<const std::byte> values, const MaskOptions& options,
          std::byte* packed);
bool pack(Isa isa, DType dtype, std::span<const std::byte> values, const SignOptions& options,
          std::byte* packed);

void unpack(Isa isa, DType dtype, const std::byte* packed, const QuantizeOptions& options,
            std::span<std::byte> values, bool past_cache);
void unpack(Isa isa, DType dtype, const std::byte* packed, const CastOptions& options,
            std::span<std::byte> values, bool past_cache);
void unpack(Isa isa, DType dtype, const std::byte* packed, const MaskOptions& options,
            std::span<std::byte> values, bool past_cache);
void unpack(Isa isa, DType dtype, const std::byte* packed, const SignOptions& options,
            std::span<std::byte> values, bool past_cache);

}  // namespace tensorpress::packing
