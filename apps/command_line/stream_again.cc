#include "stream_again.h"

#include <algorithm>

#include "base/errors.h"
#include "codecs/bounded/parameters.h"
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

Result<std::unique_ptr<stream::TensorSource>> open_stream_again(const std::string& path,
                                                                const files::EarlierLoss& loss,
                                                                stream::WriteOptions& write) {
  TRY(auto bytes, files::open_bytes(path));
  TRY(auto tensor, stream::StreamTensor::open(std::move(bytes), write.threads));
  const StreamInfo& info = tensor->info();
  TRY(const stream::History history, stream::history_with(info));
  RETURN_IF_ERROR(files::count_from_first_values("it", history, loss, write.bound));
  add_attributes(info, history, write.attributes);
  TRY(const auto kept, bounded::parse(info.codec.parameters()));
  for (const double fill : kept.fills) {
    auto& fills = write.bound.fill_values;
    if (std::ranges::find(fills, fill) == fills.end()) fills.push_back(fill);
  }
  return std::unique_ptr<stream::TensorSource>(std::move(tensor));
}

}  // namespace tensorpress::cli
