// A policy says, for every activation that the backward pass reads, how it waits: as it is, packed
// by a codec, as signs only, or rebuilt from something that is stored anyway. Users write it as a
// plan, a file of docs/plan.md, or name a level: off, lossless, safe, balanced, max (levels.toml).
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "model/graph/graph.h"

namespace tensorpress::model {

/// How one activation waits for the backward pass.
struct Storing {
  enum class Kind : std::uint8_t {
    keep,      // the value itself
    quantize,  // `bits` a value, groups of 256 with their own minimum and scale
    cast,      // to a smaller floating-point type
    chop,      // DCT+Chop
    bounded,   // a codec of the library that keeps an error bound
    rebuild,   // nothing: made again from what else is stored
    offload,   // the value itself, in the host's memory
  };
  Kind kind = Kind::keep;
  int bits = 4;             // quantize
  bool stochastic = false;  // quantize
  std::string type = {};    // cast: bf16, f16, e4m3, e5m2
  int chop_factor = 4;      // chop
  std::string codec = {};   // bounded: dense, ceresz, ceresz2
  std::string bound = {};   // bounded: relative, absolute, ...
  double bound_value = 0;   // bounded

  friend bool operator==(const Storing&, const Storing&) = default;
};

/// All values wait as they are, here or in the host's memory.
bool keeps_values(const Storing& storing);
/// A codec stores the values with an error.
bool is_lossy(const Storing& storing);
std::string to_text(const Storing& storing);
/// Planes of 8 x 8 or more, which DCT+Chop is for.
bool has_planes(const TensorType& type);
/// Bytes of a tensor of this type when it waits so. What a bounded codec makes depends on the
/// values and is estimated: a normal distribution, or the ratio that was asked for.
std::int64_t stored_bytes(const Storing& storing, const TensorType& type, const Sizes& sizes);

struct Policy {
  std::string name = "off";
  /// Exact compact forms where backward needs less than the values: 1-bit signs, small window
  /// indices, seeds instead of masks, one copy of normalized values. Off: what autograd would keep.
  bool compact = false;
  /// For activations that a lossy copy is sound for and that have no entry of their own.
  Storing fallback;
  /// The same for those that a smooth function of enters the gradients.
  Storing smooth;
  /// Smaller tensors are kept as they are, and tensors of two dimensions up to the second size: the
  /// last features and the logits.
  std::int64_t min_bytes = 0;
  std::int64_t exact_2d_bytes = 0;
  /// Bits a value of gradients that wait for another branch of the graph (skip connections) while
  /// the nodes between run; 0: as they are.
  int waiting_bits = 0;
  std::map<std::string, Storing> by_name;  // activation -> how
};

/// Some rule or default may store values with an error.
bool is_lossy(const Policy& policy);

Policy policy_off();
/// off, lossless, safe, balanced, max; or an error that lists them.
Result<Policy> named_policy(const std::string& name);

}  // namespace tensorpress::model
