#include "kernels/checksum/checksum.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "kernels/checksum/xxh3.h"

namespace tensorpress {

struct Checksum::State {
  XXH3_state_t xxh;
  xxh3::UpdateFunction update = xxh3::update_baseline;
};

Checksum::Checksum(Isa isa) : state_(std::make_unique<State>()) {
#if defined(__x86_64__)
  if (isa == Isa::avx2) state_->update = xxh3::update_avx2;
  if (isa == Isa::avx512) state_->update = xxh3::update_avx512;
#else
  (void)isa;
#endif
  reset();
}

Checksum::~Checksum() = default;

void Checksum::reset() {
  XXH3_64bits_reset(&state_->xxh);
}

void Checksum::update(std::span<const std::byte> bytes) {
  state_->update(&state_->xxh, bytes.data(), bytes.size());
}

std::uint64_t Checksum::value() const {
  return XXH3_64bits_digest(&state_->xxh);
}

std::uint64_t checksum_of(std::span<const std::byte> bytes, std::uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

}  // namespace tensorpress
