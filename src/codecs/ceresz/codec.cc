// The registry's entry for ceresz.
#include <array>

#include "base/errors.h"
#include "codecs/bounded/bounded_codec.h"
#include "codecs/ceresz/ceresz.h"
#include "codecs/registry.h"

namespace tensorpress::ceresz {
namespace {

constexpr std::array kParameters = {bounded::kBoundParameter, bounded::kLimitParameter,
                                    bounded::kFillParameter};

Result<std::unique_ptr<ChunkCodec>> create(std::span<const Parameter> parameters) {
  TRY(auto common, bounded::parse(parameters));
  return bounded::make_bounded_codec(make_ceresz(), std::move(common));
}

}  // namespace

extern constinit const RegisteredCodec kCodec = {
    {.name = "ceresz",
     .summary = "error-bounded, the fast one: Lorenzo along rows, blocks of 32 values of one width",
     .parameters = kParameters,
     .error_bounded = true},
    create,
    nullptr,
    {.number = 2}};

}  // namespace tensorpress::ceresz
