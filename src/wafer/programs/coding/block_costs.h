// What a block of 32 values takes on a PE, in cycles, by stage. The sums are calibrated; how they
// divide among the stages is not visible in published numbers (calibration.json).
#pragma once

#include <algorithm>
#include <cstdint>

#include "wafer/calibration/calibration.h"

namespace tensorpress::wafer::programs {

struct StageCycles {
  std::uint64_t quantize = 0;
  std::uint64_t predict = 0;
  std::uint64_t encode = 0;

  std::uint64_t total() const { return quantize + predict + encode; }
  StageCycles& operator+=(const StageCycles& other) {
    quantize += other.quantize;
    predict += other.predict;
    encode += other.encode;
    return *this;
  }
};

class BlockCosts {
 public:
  BlockCosts(const Calibration& calibration, bool uniform, bool transpose)
      : quantize_(32 * calibration.cycles("quantize_value")),
        predict_(32 * calibration.cycles("predict_value")),
        base_(calibration[uniform ? "ceresz2_block" : "ceresz2_block_base"]),
        bit_(uniform ? 0 : calibration["ceresz2_bit"]),
        transpose_(transpose ? calibration["transpose"] : 0),
        ceresz_(calibration["ceresz_base"]),
        plane_(calibration["ceresz_plane"]),
        decode2_(calibration["ceresz2_decode"]),
        decode_(calibration["ceresz_decode"]) {}

  /// CereSZ-II's block of so many bits, its first word included.
  StageCycles ceresz2(std::uint32_t bits) const {
    const double coding = base_ + bit_ * bits;
    return of(coding + transpose_ * coding);
  }
  /// CereSZ's block of so many planes; a raw block is copied.
  StageCycles ceresz(unsigned planes) const { return of(ceresz_ + plane_ * planes); }
  std::uint64_t decode_ceresz2(std::uint32_t bits) const {
    return scaled(ceresz2(bits).total(), decode2_);
  }
  std::uint64_t decode_ceresz(unsigned planes) const {
    return scaled(ceresz(planes).total(), decode_);
  }

 private:
  static std::uint64_t scaled(std::uint64_t cycles, double share) {
    return static_cast<std::uint64_t>(static_cast<double>(cycles) * share + 0.5);
  }
  StageCycles of(double total) const {
    const auto whole = static_cast<std::uint64_t>(total + 0.5);
    StageCycles cycles;
    cycles.quantize = std::min(quantize_, whole);
    cycles.predict = std::min(predict_, whole - cycles.quantize);
    cycles.encode = whole - cycles.quantize - cycles.predict;
    return cycles;
  }

  std::uint64_t quantize_, predict_;
  double base_, bit_, transpose_, ceresz_, plane_, decode2_, decode_;
};

}  // namespace tensorpress::wafer::programs
