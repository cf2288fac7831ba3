// The filter's work on one chunk from the words that HDF5 stores, and nothing thrown on the way.
#pragma once

#include <exception>
#include <new>
#include <span>

#include "base/errors.h"
#include "chunk_coding.h"
#include "hdf5_abi.h"

namespace tensorpress::hdf5 {

template <class Work>
auto without_exceptions(Work work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return too_large("out of memory");
  } catch (const std::exception& error) {
    return internal_error(error.what());
  }
}

/// Forth, or back if `flags` has abi::kFlagReverse.
inline Result<Buffer> code_chunk(unsigned flags, std::span<const std::uint32_t> words,
                                 std::span<const std::byte> bytes) {
  return without_exceptions([&]() -> Result<Buffer> {
    TRY(const auto settings, files::Hdf5FilterSettings::from_words(words));
    if (!settings.chunk) {
      return corrupt(
          "the HDF5 filter's values do not say what a chunk is; they were not completed when the "
          "dataset was created");
    }
    return (flags & abi::kFlagReverse) != 0 ? decode_chunk(settings, bytes)
                                            : encode_chunk(settings, bytes);
  });
}

}  // namespace tensorpress::hdf5
