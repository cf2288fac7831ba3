// Two thousand mutated streams from a fixed seed. A stream whose checksums were left alone gives an
// error or exactly the right data. One whose checksums were made right again may say anything, but
// gives an error or a tensor of the size it declares, without harm; this is for the sanitizers.
#include <gtest/gtest.h>

#include <random>

#include "unit/stream/compact_samples.h"

namespace tensorpress {
namespace {

using samples::Bytes;
using samples::chop;
using samples::packed;
using samples::ramp;

constexpr int kMutants = 2000;

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }

  // Numbers at which sizes and counts go wrong.
  std::uint64_t extreme() {
    constexpr std::uint64_t kEdges[] = {0, 1, 0x7F, 0xFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF};
    switch (below(4)) {
      case 0:
        return kEdges[below(std::size(kEdges))];
      case 1:
        return std::uint64_t{1} << below(64);
      case 2:
        return ~std::uint64_t{0} - below(64);
      default:
        return (std::uint64_t{1} << below(64)) - 1;
    }
  }

  void flip(Bytes& bytes) {
    for (std::uint64_t i = 0, count = 1 + below(4); i < count; ++i) {
      bytes[below(bytes.size())] ^= static_cast<std::byte>(1 << below(8));
    }
  }
  void cut(Bytes& bytes) { bytes.resize(below(bytes.size())); }
  void insert(Bytes& bytes) {
    Bytes extra(1 + below(40));
    for (auto& byte : extra) byte = static_cast<std::byte>(below(256));
    bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(below(bytes.size() + 1)),
                 extra.begin(), extra.end());
  }
  void overwrite(Bytes& bytes) {
    const std::size_t size = std::size_t{1} << below(4);
    if (bytes.size() < size) return;
    samples::store(bytes, below((bytes.size() - size) / size + 1) * size, size, extreme());
  }
  // The beginning of one stream and the end of another, or of itself.
  void splice(Bytes& bytes, const Bytes& other) {
    bytes.resize(below(bytes.size()));
    const auto from = static_cast<std::ptrdiff_t>(below(other.size()));
    bytes.insert(bytes.end(), other.begin() + from, other.end());
  }

 private:
  std::mt19937_64 random_;
};

Codec codec(std::string_view name, const std::vector<Parameter>& parameters) {
  return Codec::make(name, parameters).value();
}

/// In both versions of the format.
std::vector<Bytes> base_streams() {
  std::vector<Bytes> streams = {
      packed(ramp(DType::f32, {3, 16, 24}), chop(4), {.chunk_shape = Shape{1, 16, 24}}),
      packed(ramp(DType::f32, {13, 21}), chop(3, "triangle"), {.attributes = {{"a", "b"}}}),
      packed(ramp(DType::u8, {4, 5}), chop(1), {.chunk_shape = Shape{1, 5}}),
      packed(ramp(DType::f64, {2, 8, 8}), chop(8)),
      packed(ramp(DType::f16, {50}), chop(2), {.chunk_shape = Shape{16}}),
      packed(ramp(DType::bf16, {8, 8}), chop(8)),
      packed(ramp(DType::i16, {1, 9, 9}), chop(2), {.chunk_shape = Shape{1, 8, 8}}),
      packed(ramp(DType::f32, {0, 7}), chop(2)),
      packed(ramp(DType::f32, {}), chop(2)),
      packed(ramp(DType::f32, {5, 130}), codec("quantize", {{"bits", "2"}}),
             {.chunk_shape = Shape{2, 130}}),
      packed(ramp(DType::f16, {600}), codec("quantize", {{"group", "64"}}),
             {.chunk_shape = Shape{250}}),
      packed(ramp(DType::f32, {9, 9}), codec("cast", {{"to", "e4m3"}})),
      packed(ramp(DType::bf16, {40}), codec("cast", {{"to", "e5m2"}})),
      packed(ramp(DType::u8, {2, 99}), codec("mask", {}), {.chunk_shape = Shape{1, 99}}),
      packed({.bytes = Bytes(4 * 60), .dtype = DType::f32, .shape = {12, 5}}, codec("dense", {}),
             {.bound = Bound::absolute(0.1), .chunk_shape = Shape{1, 5}}),
  };
  for (std::size_t i = 0, count = streams.size(); i < count; ++i) {
    streams.push_back(samples::in_version_1(streams[i]));
  }
  return streams;
}

std::vector<Result<Tensor>> read_all_ways(const Bytes& stream) {
  std::vector<Result<Tensor>> results;
  results.push_back(samples::read_in_memory(stream));
  results.push_back(samples::read_as_file(stream));
  results.push_back(samples::read_as_pipe(stream));
  return results;
}

TEST(MutatedStream, GivesAnErrorOrTheRightData) {
  const auto bases = base_streams();
  Mutator mutate(20240611);
  int refused = 0;
  for (int i = 0; i < kMutants / 2; ++i) {
    const Bytes& base = bases[mutate.below(bases.size())];
    const Tensor truth = samples::read_in_memory(base).value();
    Bytes mutant = base;
    switch (mutate.below(5)) {
      case 0:
        mutate.flip(mutant);
        break;
      case 1:
        mutate.cut(mutant);
        break;
      case 2:
        mutate.insert(mutant);
        break;
      case 3:
        mutate.overwrite(mutant);
        break;
      default:
        mutate.splice(mutant, base);
    }
    for (const auto& result : read_all_ways(mutant)) {
      if (!result.ok()) {
        ++refused;
        EXPECT_FALSE(result.error().message.empty());
        EXPECT_NE(result.error().code, ErrorCode::internal) << result.error().message;
        continue;
      }
      ASSERT_EQ(result->shape, truth.shape) << "mutant " << i;
      ASSERT_EQ(result->dtype, truth.dtype) << "mutant " << i;
      ASSERT_EQ(result->bytes, truth.bytes) << "mutant " << i;
    }
  }
  // Only a mutation that changed nothing may pass.
  EXPECT_GT(refused, kMutants / 2 * 3 * 9 / 10);
}

void mutate_payload(Mutator& mutate, Bytes& payload) {
  switch (mutate.below(5)) {
    case 0:
      return mutate.flip(payload);
    case 1:
      return mutate.cut(payload);
    case 2:
      return mutate.insert(payload);
    default:
      return mutate.overwrite(payload);
  }
}

/// How many readers refused it; the others must have made a tensor of the size it declares.
int refusals_of(const Bytes& mutant) {
  int refused = 0;
  for (const auto& result : read_all_ways(mutant)) {
    if (!result.ok()) {
      ++refused;
      EXPECT_NE(result.error().code, ErrorCode::internal) << result.error().message;
      continue;
    }
    EXPECT_EQ(result->bytes.size(), result->shape.element_count() * size_of(result->dtype));
  }
  return refused;
}

TEST(MutatedStream, WithRightChecksumsDoesNoHarm) {
  const auto all = base_streams();
  const std::span bases(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2));
  Mutator mutate(19910807);
  int refused = 0;
  for (int i = 0; i < kMutants / 2; ++i) {
    auto parts = samples::take_apart_compact(bases[mutate.below(bases.size())]);
    for (std::uint64_t changes = 1 + mutate.below(2); changes > 0; --changes) {
      const std::uint64_t which = mutate.below(4);
      if (which == 0) mutate_payload(mutate, parts.head());
      if (which == 1) mutate_payload(mutate, parts.foot());
      if (which < 2 || parts.records.empty()) continue;
      auto& record = parts.records[mutate.below(parts.records.size())];
      if (!record.payload.empty()) mutate_payload(mutate, record.payload);
      record.code = mutate.below(3) == 0 ? mutate.below(40) : record.payload.size() + 3;
      if (mutate.below(20) == 0) record.code = mutate.extreme();
    }
    const bool renew_index = parts.foot().size() >= 10 && mutate.below(4) != 0;
    refused += refusals_of(samples::put_together(parts, renew_index));
  }
  EXPECT_GT(refused, 0);
}

TEST(MutatedStream, OfVersion1WithRightChecksumsDoesNoHarm) {
  const auto all = base_streams();
  const std::span bases(all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2), all.end());
  Mutator mutate(19910807);
  int refused = 0;
  for (int i = 0; i < kMutants / 2; ++i) {
    auto sections = samples::take_apart(bases[mutate.below(bases.size())]);
    for (std::uint64_t changes = 1 + mutate.below(2); changes > 0; --changes) {
      samples::Section& section = sections[mutate.below(sections.size())];
      if (!section.payload.empty() && mutate.below(6) != 0) {
        mutate_payload(mutate, section.payload);
        continue;
      }
      section.flags ^= static_cast<std::uint32_t>(mutate.below(4));
      if (mutate.below(2) == 0) section.number = mutate.extreme();
    }
    const bool renew_index =
        sections.back().payload.size() >= 8 + 16 * (sections.size() - 2) && mutate.below(4) != 0;
    refused += refusals_of(samples::put_together(sections, renew_index));
  }
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace tensorpress
