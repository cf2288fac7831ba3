// A coder that codes nothing: it shows every field to a function, which learns from it (codebooks,
// trained tables). A chunk that needs no coding, because it is constant or has no ordinary values,
// is not shown.
#pragma once

#include <memory>
#include <utility>

#include "base/errors.h"
#include "codecs/bounded/field_coder.h"

namespace tensorpress::bounded {

/// `Observe` is called as observe(field, bound, workspace) with fields of both types.
template <class Observe>
class ObservingCoder final : public TypedFieldCoder<ObservingCoder<Observe>> {
 public:
  explicit ObservingCoder(Observe observe) : observe_(std::move(observe)) {}

  Shape preferred_chunk_shape(const Shape& shape, DType /*dtype*/) const override { return shape; }

 private:
  friend TypedFieldCoder<ObservingCoder<Observe>>;

  template <class T>
  std::optional<std::size_t> encode_as(const Field<T>& field, double bound,
                                       std::span<std::byte> /*output*/,
                                       ChunkWorkspace& workspace) const {
    observe_(field, bound, workspace);
    return std::nullopt;
  }
  template <class T>
  Result<void> decode_as(std::span<const std::byte> /*input*/, const Shape& /*shape*/,
                         double /*bound*/, std::span<T> /*output*/,
                         ChunkWorkspace& /*workspace*/) const {
    return internal_error("what only looks does not decode");
  }

  Observe observe_;
};

template <class Observe>
std::unique_ptr<FieldCoder> make_observing_coder(Observe observe) {
  return std::make_unique<ObservingCoder<Observe>>(std::move(observe));
}

}  // namespace tensorpress::bounded
