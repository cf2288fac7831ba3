// A codec by name with its parameters, checked and completed when it is made. What a stream was
// made with is this and nothing else, so a Codec is also what a stream's header holds.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensorpress/api.h"
#include "tensorpress/bound.h"
#include "tensorpress/dtype.h"
#include "tensorpress/result.h"
#include "tensorpress/tensor_view.h"

namespace tensorpress {
class ChunkCodec;
}

namespace tensorpress {

struct Parameter {
  std::string name;
  std::string value;
  friend bool operator==(const Parameter&, const Parameter&) = default;
};

/// What a file holds that can be named in place of a parameter's value. The library takes the value
/// itself; a program that offers the name reads the file.
enum class ParameterFile { none, codebook };

/// A value of another parameter.
struct ParameterNeed {
  std::string_view name;   // "rounding"
  std::string_view value;  // "stochastic"
};

/// What a codec accepts for one parameter, for help texts and command lines.
struct ParameterInfo {
  std::string_view name;           // "cf"
  std::string_view default_value;  // "4"
  std::string_view choices;        // "1..8", "square|triangle"
  std::string_view help;
  bool from_data = false;  // filled in when a tensor is compressed, not by users
  ParameterFile file = ParameterFile::none;
  std::optional<ParameterNeed> needs = {};  // without it, the parameter has no effect
};

struct CodecInfo {
  std::string_view name;
  std::string_view summary;
  std::span<const ParameterInfo> parameters;
  bool error_bounded = false;  // takes a Bound (CompressOptions) and keeps it
};

struct DctChopOptions {
  int chop_factor = 4;  // keep CF of 8 (transform dct) or of 4 (transform zfp) per axis
  std::string_view layout = "square";     // or "triangle": only u + v < CF
  std::string_view transform = "dct";     // or "zfp"
  std::string_view coefficients = "f32";  // or "bf16", "f16"
  std::string_view form = "block";        // or "matmul": the paper's two dense products
  int serialize = 1;  // matmul on s x s parts of each plane, with 1/s^2 of the matrix memory
};

/// What an error-bounded codec keeps in a stream: found from what was asked for and, for most kinds
/// of bound, from the data.
struct KeptBound {
  /// What was asked for. A point-wise one is against the values that were compressed, the others
  /// are against the first values (CompressOptions::earlier_error).
  Bound asked;
  /// How far each value may be away; for a point-wise bound, how far log2|x| may.
  double limit = 0;
  /// These come back bit-exact.
  std::vector<double> fill_values = {};
  friend bool operator==(const KeptBound&, const KeptBound&) = default;
};

class TENSORPRESS_API Codec {
 public:
  /// Checks names and values, fills in defaults. The error says what is allowed.
  static Result<Codec> make(std::string_view name, std::span<const Parameter> parameters = {});
  static Result<Codec> dct_chop(const DctChopOptions& options);

  const std::string& name() const { return name_; }
  /// In the codec's own order, complete.
  std::span<const Parameter> parameters() const { return parameters_; }
  /// The value of a parameter, or "" if the codec has none of that name.
  std::string_view parameter(std::string_view name) const;
  /// What is kept, for the error-bounded codec of a stream; absent for others, and before a tensor
  /// was seen.
  const std::optional<KeptBound>& kept_bound() const { return kept_bound_; }

  friend bool operator==(const Codec& a, const Codec& b) {
    return a.name_ == b.name_ && a.parameters_ == b.parameters_;
  }

 private:
  friend struct CodecAccess;
  Codec(std::string name, std::vector<Parameter> parameters,
        std::shared_ptr<const ChunkCodec> working);

  std::string name_;
  std::vector<Parameter> parameters_;
  std::shared_ptr<const ChunkCodec> working_;  // made of them, once
  std::optional<KeptBound> kept_bound_;
};

/// Every codec of this build, in the order of the registry.
TENSORPRESS_API std::vector<CodecInfo> codecs();

enum class FactUnit { number, bytes };

/// A named figure about a codec on a tensor ("matrix_bytes", "flops_compress"), for reports.
struct Fact {
  std::string name;
  double value = 0;
  FactUnit unit = FactUnit::number;
};
TENSORPRESS_API std::vector<Fact> facts(const Codec& codec, const Shape& shape, DType dtype);

}  // namespace tensorpress
