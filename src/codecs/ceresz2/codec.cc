// The registry's entry for ceresz2.
#include <algorithm>
#include <array>
#include <mutex>

#include "base/errors.h"
#include "codecs/bounded/bounded_codec.h"
#include "codecs/bounded/observing_coder.h"
#include "codecs/ceresz2/ceresz2.h"
#include "codecs/registry.h"

namespace tensorpress::ceresz2 {
namespace {

constexpr std::string_view kDynamic = "dynamic";

constexpr std::array kParameters = {
    bounded::kBoundParameter, bounded::kLimitParameter, bounded::kFillParameter,
    ParameterInfo{
        .name = "codebook",
        .default_value = "default",
        .choices = "default|dynamic|FILE.json",
        .help = "Huffman code: the one that ships, this file's own, or from `codebook build`",
        .file = ParameterFile::codebook}};

constexpr std::array kHdf5Parameters = {PackedParameter{"codebook", 0, 1, {"default", kDynamic}}};

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

// Counts the differences of every chunk, which may come from several threads.
class CodebookLearner final : public Learner {
 public:
  CodebookLearner(std::span<const Parameter> parameters, bounded::Parameters common)
      : parameters_(parameters.begin(), parameters.end()),
        codec_(bounded::make_bounded_codec(
            bounded::make_observing_coder(
                [this](const auto& field, double bound, ChunkWorkspace&) { count(field, bound); }),
            std::move(common))) {}

  const ChunkCodec& codec() const override { return *codec_; }
  std::span<std::uint64_t> counts() override { return counts_.counts; }
  Result<std::vector<Parameter>> parameters() const override {
    TRY(const Codebook codebook, Codebook::from_counts(counts_.counts));
    std::vector<Parameter> learned = parameters_;
    std::ranges::find(learned, "codebook", &Parameter::name)->value = codebook.to_text();
    return learned;
  }

 private:
  template <class T>
  void count(const bounded::Field<T>& field, double bound) {
    DeltaCounts counts;
    count_deltas(field, bound, counts);
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < counts.counts.size(); ++i) counts_.counts[i] += counts.counts[i];
  }

  std::vector<Parameter> parameters_;
  std::mutex mutex_;
  DeltaCounts counts_;
  std::unique_ptr<ChunkCodec> codec_;
};

Result<std::unique_ptr<Learner>> learn(std::span<const Parameter> parameters) {
  if (codebook_of(parameters) != kDynamic) return std::unique_ptr<Learner>();
  TRY(auto common, bounded::parse(parameters));
  return std::unique_ptr<Learner>(std::make_unique<CodebookLearner>(parameters, std::move(common)));
}

}  // namespace

extern constinit const RegisteredCodec kCodec = {
    {.name = "ceresz2",
     .summary = "error-bounded, CereSZ-II's format: blocks of 32 values, one Huffman codebook",
     .parameters = kParameters,
     .error_bounded = true},
    create,
    learn,
    {.number = 3, .parameters = kHdf5Parameters}};

}  // namespace tensorpress::ceresz2
