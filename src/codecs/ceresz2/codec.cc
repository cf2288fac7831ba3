#include "codecs/ceresz2/codec.h"

#include <algorithm>
#include <array>
#include <mutex>

#include "base/errors.h"
#include "codecs/bounded/bounded_codec.h"
#include "codecs/ceresz2/ceresz2.h"

namespace tensorpress::ceresz2 {
namespace {

constexpr std::string_view kDynamic = "dynamic";

constexpr std::array kParameters = {
    bounded::kBoundParameter, bounded::kLimitParameter, bounded::kFillParameter,
    ParameterInfo{"codebook", "default", "default|dynamic|FILE.json",
                  "Huffman code: the one that ships, this file's own, or from `codebook build`"}};

std::string_view codebook_of(std::span<const Parameter> parameters) {
  return std::ranges::find(parameters, "codebook", &Parameter::name)->value;
}

Result<std::unique_ptr<ChunkCodec>> create(std::span<const Parameter> parameters) {
  TRY(auto common, bounded::parse(parameters));
  // Until the data has been seen, any codebook does.
  const std::string_view codebook = codebook_of(parameters);
  TRY(auto coder, make_ceresz2(codebook == kDynamic ? "default" : codebook));
  return bounded::make_bounded_codec(std::move(coder), std::move(common));
}

// Counts differences instead of coding them. Chunks may come from several threads.
class CountingCoder final : public bounded::FieldCoder {
 public:
  explicit CountingCoder(std::unique_ptr<bounded::FieldCoder> coder) : coder_(std::move(coder)) {}

  Shape preferred_chunk_shape(const Shape& shape, DType dtype) const override {
    return coder_->preferred_chunk_shape(shape, dtype);
  }
  std::optional<std::size_t> encode(const bounded::Field<float>& field, double bound,
                                    std::span<std::byte> output,
                                    ChunkWorkspace& workspace) const override {
    return count(field, bound, output, workspace);
  }
  std::optional<std::size_t> encode(const bounded::Field<double>& field, double bound,
                                    std::span<std::byte> output,
                                    ChunkWorkspace& workspace) const override {
    return count(field, bound, output, workspace);
  }
  Result<void> decode(std::span<const std::byte>, const Shape&, double, std::span<float>,
                      ChunkWorkspace&) const override {
    return internal_error("counting does not decode");
  }
  Result<void> decode(std::span<const std::byte>, const Shape&, double, std::span<double>,
                      ChunkWorkspace&) const override {
    return internal_error("counting does not decode");
  }

  Result<Codebook> codebook() const {
    const std::lock_guard lock(mutex_);
    return Codebook::from_counts(counts_.counts);
  }

 private:
  template <class T>
  std::optional<std::size_t> count(const bounded::Field<T>& field, double bound,
                                   std::span<std::byte> /*output*/,
                                   ChunkWorkspace& /*workspace*/) const {
    DeltaCounts counts;
    count_deltas(field, bound, counts);
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < counts.counts.size(); ++i) counts_.counts[i] += counts.counts[i];
    return std::nullopt;
  }

  std::unique_ptr<bounded::FieldCoder> coder_;
  mutable std::mutex mutex_;
  mutable DeltaCounts counts_;
};

class CodebookLearner final : public Learner {
 public:
  CodebookLearner(std::span<const Parameter> parameters, bounded::Parameters common,
                  std::unique_ptr<CountingCoder> coder)
      : parameters_(parameters.begin(), parameters.end()), counting_(coder.get()) {
    codec_ = bounded::make_bounded_codec(std::move(coder), std::move(common));
  }

  const ChunkCodec& codec() const override { return *codec_; }
  Result<std::vector<Parameter>> parameters() const override {
    TRY(const Codebook codebook, counting_->codebook());
    std::vector<Parameter> learned = parameters_;
    std::ranges::find(learned, "codebook", &Parameter::name)->value = codebook.to_text();
    return learned;
  }

 private:
  std::vector<Parameter> parameters_;
  const CountingCoder* counting_;
  std::unique_ptr<ChunkCodec> codec_;
};

Result<std::unique_ptr<Learner>> learn(std::span<const Parameter> parameters) {
  if (codebook_of(parameters) != kDynamic) return std::unique_ptr<Learner>();
  TRY(auto common, bounded::parse(parameters));
  TRY(auto coder, make_ceresz2("default"));
  return std::unique_ptr<Learner>(std::make_unique<CodebookLearner>(
      parameters, std::move(common), std::make_unique<CountingCoder>(std::move(coder))));
}

}  // namespace

constinit const RegisteredCodec kCodec = {
    {.name = "ceresz2",
     .summary = "error-bounded, CereSZ-II's format: blocks of 32 values, one Huffman codebook",
     .parameters = kParameters,
     .error_bounded = true},
    create,
    learn};

}  // namespace tensorpress::ceresz2
