#include "benchmark/studies/pack_study.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>

#include "base/errors.h"
#include "base/tensor/elements.h"
#include "benchmark/stopwatch.h"
#include "tensorpress/aligned_buffer.h"
#include "tensorpress/pack.h"

namespace tensorpress::benchmark {
namespace {

struct Memory {
  AlignedBuffer values, packed, back;
};

/// About normal, with every group different: the sum of four uniform numbers.
void fill_values(DType dtype, std::span<std::byte> bytes) {
  const std::size_t count = bytes.size() / size_of(dtype);
  std::uint64_t state = 1;
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    float sum = -2;
    for (int part = 0; part < 4; ++part) {
      sum += static_cast<float>((state >> (12 * part + 12)) & 0xFFFu) * 0x1p-12f;
    }
    store_elements(dtype, &sum, bytes.data() + i * size_of(dtype), 0, 1);
  }
}

void rectify_to_mask(DType dtype, std::span<std::byte> bytes) {
  const std::size_t size = size_of(dtype);
  for (std::size_t i = 0; i < bytes.size(); i += size) {
    float value = 0;
    load_elements(dtype, bytes.data() + i, 0, 1, &value);
    value = value > 0 ? 1.25f : 0.0f;
    store_elements(dtype, &value, bytes.data() + i, 0, 1);
  }
}

template <class Options>
Result<PackSpeed> measure(const std::string& what, DType dtype, std::size_t bytes,
                          const Options& options, int repetitions, Memory& memory) {
  const auto values = memory.values.reserve(bytes);
  const auto back = memory.back.reserve(bytes);
  TRY(const std::size_t size, packed_size(bytes / size_of(dtype), options));
  const auto packed = memory.packed.reserve(size);
  double copying = std::numeric_limits<double>::infinity(), packing = copying, unpacking = copying;
  for (int turn = 0; turn < repetitions + 1; ++turn) {  // the first one touches the memory
    const double copied =
        seconds_of([&] { std::memcpy(back.data(), values.data(), values.size()); });
    Result<PackOutcome> outcome = PackOutcome::packed;
    const double in = seconds_of([&] { outcome = pack(dtype, values, options, packed); });
    TRY(const PackOutcome representable, outcome);
    if (representable != PackOutcome::packed) {
      return internal_error("the values of case ", what, " could not be packed");
    }
    Result<void> unpacked;
    const double out = seconds_of([&] { unpacked = unpack(dtype, packed, options, back); });
    RETURN_IF_ERROR(unpacked);
    if (turn == 0) continue;
    copying = std::min(copying, copied);
    packing = std::min(packing, in);
    unpacking = std::min(unpacking, out);
  }
  const double gigabytes = static_cast<double>(bytes) * 1e-9;
  return PackSpeed{what,
                   dtype,
                   gigabytes / copying,
                   gigabytes / packing,
                   gigabytes / unpacking,
                   static_cast<double>(bytes) / static_cast<double>(size)};
}

}  // namespace

Result<void> run_pack_study(const PackStudyOptions& options,
                            const std::function<void(const PackSpeed&)>& report) {
  Memory memory;
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    const std::size_t bytes = options.bytes / sizeof(float) * size_of(dtype);
    fill_values(dtype, memory.values.reserve(bytes));
    const auto run = [&](const std::string& what, const auto& how) -> Result<void> {
      TRY(const auto speed, measure(what, dtype, bytes, how, options.repetitions, memory));
      report(speed);
      return {};
    };
    for (const int bits : {8, 4, 2, 1}) {
      for (const Rounding rounding : {Rounding::nearest, Rounding::stochastic}) {
        const char* const name = rounding == Rounding::nearest ? "nearest" : "stochastic";
        RETURN_IF_ERROR(run(text("quantize ", bits, " bits ", name),
                            QuantizeOptions{.bits = bits, .rounding = rounding, .seed = 1}));
      }
    }
    if (dtype == DType::f32) {
      RETURN_IF_ERROR(run("cast bf16", CastOptions{.to = CastType::bf16}));
      RETURN_IF_ERROR(run("cast f16", CastOptions{.to = CastType::f16}));
    }
    RETURN_IF_ERROR(run("cast e4m3", CastOptions{.to = CastType::e4m3}));
    RETURN_IF_ERROR(run("cast e5m2", CastOptions{.to = CastType::e5m2}));
    RETURN_IF_ERROR(run("signs", SignOptions{}));
    rectify_to_mask(dtype, memory.values.reserve(bytes));
    RETURN_IF_ERROR(run("mask", MaskOptions{}));
  }
  return {};
}

}  // namespace tensorpress::benchmark
