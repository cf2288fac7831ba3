#include "benchmark/own_contenders.h"

#include <algorithm>
#include <optional>

#include "base/errors.h"
#include "base/text.h"
#include "benchmark/stopwatch.h"
#include "tensorpress/aligned_buffer.h"
#include "tensorpress/stream.h"

namespace tensorpress::benchmark {
namespace {

constexpr std::string_view kDense = "dense";
constexpr std::string_view kEffort = "effort";

/// What `--effort` of `dense` may be beside its default: fast, which is "dense-fast" here.
std::vector<std::string> other_efforts() {
  std::vector<std::string> efforts;
  for (const CodecInfo& info : codecs()) {
    if (info.name != kDense) continue;
    const auto effort = std::ranges::find(info.parameters, kEffort, &ParameterInfo::name);
    if (effort == info.parameters.end()) continue;
    for (std::string_view rest = effort->choices; !rest.empty();) {
      const std::string_view choice = rest.substr(0, rest.find('|'));
      if (choice != effort->default_value) efforts.emplace_back(choice);
      rest.remove_prefix(std::min(rest.size(), choice.size() + 1));
    }
  }
  return efforts;
}

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
    if (info.name != kDense) continue;
    for (const std::string& effort : other_efforts()) names.push_back(text(kDense, "-", effort));
  }
  return names;
}

Result<std::unique_ptr<Contender>> own_contender(const std::string& name) {
  const auto names = own_contender_names();
  if (std::ranges::find(names, name) == names.end()) {
    return bad_argument("codec ", name, " is not in this build");
  }
  std::vector<Parameter> parameters;
  for (const std::string& effort : other_efforts()) {
    if (name == text(kDense, "-", effort)) parameters.push_back({std::string(kEffort), effort});
  }
  TRY(Codec codec, Codec::make(parameters.empty() ? name : kDense, parameters));
  std::unique_ptr<Contender> contender = std::make_unique<OwnContender>(name, std::move(codec));
  return contender;
}

}  // namespace tensorpress::benchmark
