#include "codecs/ceresz/codec.h"

#include <array>

#include "base/errors.h"
#include "codecs/bounded/bounded_codec.h"
#include "codecs/ceresz/ceresz.h"

namespace tensorpress::ceresz {
namespace {

constexpr std::array kParameters = {bounded::kBoundParameter, bounded::kLimitParameter,
                                    bounded::kFillParameter};

Result<std::unique_ptr<ChunkCodec>> create(std::span<const Parameter> parameters) {
  TRY(auto common, bounded::parse(parameters));
  return bounded::make_bounded_codec(make_ceresz(), std::move(common));
}

}  // namespace

constinit const RegisteredCodec kCodec = {
    {.name = "ceresz",
     .summary = "error-bounded, the fast one: Lorenzo along rows, blocks of 32 values of one width",
     .parameters = kParameters,
     .error_bounded = true},
    create};

}  // namespace tensorpress::ceresz
