// From what a user asked of an error-bounded codec to the number that the stream keeps: the value
// range for a relative bound, a search for a PSNR or a ratio.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "codecs/chunk_codec.h"
#include "codecs/registry.h"
#include "stream/bounds/limit_search.h"
#include "stream/bounds/survey.h"
#include "stream/bounds/trial.h"
#include "stream/chunks/execution.h"
#include "tensorpress/codec.h"
#include "tensorpress/streaming.h"

namespace tensorpress::stream {

/// What the parameters that come from the data add to a header at most.
inline constexpr std::uint64_t kResolvedParameterBytes = 8192;

struct ResolvedCodec {
  Codec codec;
  std::vector<ChunkHint> hints = {};  // of every chunk, when all were looked at
};

/// How the data is looked at: by this process alone, or by many that look at some of the chunks
/// each and then all know the same.
class DataLook {
 public:
  virtual ~DataLook() = default;
  /// What is seen of these chunks, in their order.
  virtual Result<std::vector<Sighting>> look_at(const ChunkGrid& grid,
                                                std::span<const std::uint64_t> chunks,
                                                std::span<const double> fill_values) = 0;
  /// Of all chunks.
  Result<Survey> survey(const ChunkGrid& grid, std::span<const double> fill_values);
  virtual Result<Trial> trial(const ChunkCodec& codec, const ChunkGrid& grid,
                              std::span<const std::uint64_t> chunks) = 0;
  /// Shows every chunk to the learner.
  virtual Result<void> show_to(Learner& learner, const ChunkGrid& grid) = 0;
};

/// This process alone. What is passed by reference must outlive it.
std::unique_ptr<DataLook> look_of_this_process(TensorSource& source, const Execution& execution);

/// The way to a resolved codec in steps, for those who compress everything and can begin again: a
/// PSNR or a ratio is then checked on what they wrote, instead of by compressing it once more.
class Resolution {
 public:
  /// What is passed by reference must outlive this. The source is asked for its shape and type
  /// only, the look for everything else.
  static Result<Resolution> begin(const Codec& codec, const TensorSource& source,
                                  const CompressOptions& options, DataLook& look);
  Resolution(Resolution&&) noexcept;
  ~Resolution();

  const ResolvedCodec& resolved() const;
  /// Whether reconsider() has something to say.
  bool is_on_trial() const;
  /// What compressing everything came to; false when the codec is taken as it is, true when
  /// resolved() is another one to try.
  Result<bool> reconsider(const Outcome& outcome);
  /// Everything is compressed, for its size and error alone, until the codec is taken.
  Result<void> settle();

 private:
  class State;
  explicit Resolution(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// The codec with every parameter that the data decides. Codecs without a bound come back as they
/// are. Reads the source, which must then have random access, unless the bound needs no look at it.
Result<ResolvedCodec> resolve_codec(const Codec& codec, TensorSource& source,
                                    const CompressOptions& options);
/// The same, and the source is asked for its shape and type only.
Result<ResolvedCodec> resolve_codec(const Codec& codec, const TensorSource& source,
                                    const CompressOptions& options, DataLook& look);

/// What a stream of these values would promise for each of them, whatever its codec: an absolute
/// bound, or a point-wise one where that was asked for. Not for a PSNR or a ratio.
Result<Bound> resolve_bound(TensorSource& source, const CompressOptions& options);

/// Whether resolve_codec has to read the source.
bool needs_the_data(const Codec& codec, const CompressOptions& options);

}  // namespace tensorpress::stream
