#include "benchmark/own_contenders.h"

#include <algorithm>
#include <optional>

#include "base/errors.h"
#include "benchmark/stopwatch.h"
#include "tensorpress/aligned_buffer.h"
#include "tensorpress/stream.h"

namespace tensorpress::benchmark {
namespace {

constexpr std::string_view kDenseFast = "dense-fast";

class OwnContender : public Contender {
 public:
  OwnContender(std::string name, Codec codec) : name_(std::move(name)), codec_(std::move(codec)) {}

  std::string name() const override { return name_; }

  Result<void> prepare(const Field& field, const FieldBound& bound) override {
    view_ = field.view;
    CompressOptions options;
    options.bound = bound.requested;
    options.fill_values.assign(field.fill_values.begin(), field.fill_values.end());
    compressor_.emplace(codec_, options);
    TRY(const std::uint64_t room, compressor_->bound_on_output_size(view_.shape, view_.dtype));
    memory_ = compressed_.reserve(static_cast<std::size_t>(room));
    std::ranges::fill(memory_, std::byte{1});
    return {};
  }

  Result<double> compress() override {
    Result<std::uint64_t> written = std::uint64_t{0};
    const double seconds = seconds_of([&] { written = compressor_->compress(view_, memory_); });
    TRY(length_, written);
    return seconds;
  }

  Result<double> decompress(std::span<std::byte> output) override {
    const auto stream = memory_.first(static_cast<std::size_t>(length_));
    const auto to = MutableTensorView::contiguous(output.data(), view_.dtype, view_.shape);
    Result<void> read;
    const double seconds = seconds_of([&] { read = decompressor_.decompress(stream, to); });
    RETURN_IF_ERROR(read);
    return seconds;
  }

  Result<std::uint64_t> compressed_bytes() const override { return length_; }

 private:
  std::string name_;
  Codec codec_;
  TensorView view_;
  std::optional<Compressor> compressor_;
  Decompressor decompressor_;
  AlignedBuffer compressed_;
  std::span<std::byte> memory_;
  std::uint64_t length_ = 0;
};

}  // namespace

std::vector<std::string> own_contender_names() {
  std::vector<std::string> names;
  for (const CodecInfo& info : codecs()) {
    if (!info.error_bounded) continue;
    names.emplace_back(info.name);
    const bool has_effort = std::ranges::any_of(
        info.parameters, [](const ParameterInfo& each) { return each.name == "effort"; });
    if (info.name == "dense" && has_effort) names.emplace_back(kDenseFast);
  }
  return names;
}

Result<std::unique_ptr<Contender>> own_contender(const std::string& name) {
  const auto names = own_contender_names();
  if (std::ranges::find(names, name) == names.end()) {
    return bad_argument("codec ", name, " is not in this build");
  }
  std::vector<Parameter> parameters;
  if (name == kDenseFast) parameters.push_back({"effort", "fast"});
  TRY(Codec codec, Codec::make(name == kDenseFast ? "dense" : name, parameters));
  std::unique_ptr<Contender> contender = std::make_unique<OwnContender>(name, std::move(codec));
  return contender;
}

}  // namespace tensorpress::benchmark
