#include "command_line/inputs/stream_again.h"

#include <algorithm>

#include "base/errors.h"
#include "files/bytes/byte_files.h"
#include "stream/container/history.h"
#include "stream/stream_tensor.h"

namespace tensorpress::cli {
namespace {

/// The user's own go before those of the stream.
void add_attributes(const StreamInfo& info, const stream::History& history,
                    std::vector<Attribute>& attributes) {
  for (const Attribute& attribute : info.attributes) {
    const bool given =
        std::ranges::find(attributes, attribute.name, &Attribute::name) != attributes.end();
    if (!given && attribute.name != stream::kHistoryAttribute) attributes.push_back(attribute);
  }
  attributes.push_back({std::string(stream::kHistoryAttribute), stream::to_text(history)});
}

}  // namespace

Result<std::unique_ptr<TensorSource>> open_stream_again(const std::string& path,
                                                        const files::EarlierLoss& loss,
                                                        CompressOptions& write) {
  TRY(auto bytes, files::open_bytes(path));
  TRY(auto tensor, stream::StreamTensor::open(std::move(bytes), write.threads));
  const StreamInfo& info = tensor->info();
  TRY(const stream::History history, stream::history_with(info));
  RETURN_IF_ERROR(files::count_from_first_values("it", history, loss, write));
  add_attributes(info, history, write.attributes);
  const auto& kept = info.codec.kept_bound();
  for (const double fill : kept ? kept->fill_values : std::vector<double>()) {
    auto& fills = write.fill_values;
    if (std::ranges::find(fills, fill) == fills.end()) fills.push_back(fill);
  }
  return std::unique_ptr<TensorSource>(std::move(tensor));
}

}  // namespace tensorpress::cli
