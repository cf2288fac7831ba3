#include "decompressed_file.h"

#include <cstdlib>
#include <optional>

#include "base/errors.h"
#include "command_line/inputs/tensor_name.h"
#include "files/conventions/netcdf_slice.h"
#include "files/netcdf/file.h"
#include "stream/container/history.h"

namespace tensorpress::cli {
namespace {

/// How far values may be from those that were compressed, where the stream says so. The limit of a
/// point-wise bound is a share of each value and no error.
std::optional<double> promised_error(const StreamInfo& info) {
  const std::string limit(info.codec.parameter("limit"));
  if (limit.empty() || info.codec.parameter("bound").starts_with("pw-rel")) return std::nullopt;
  return std::strtod(limit.c_str(), nullptr);
}

}  // namespace

Result<TensorSink*> DecompressedFile::create(const StreamInfo& info, const Slice* slice) {
  if (request_.method_given && info.codec.name() != "dct-chop") {
    return bad_argument("it is of codec ", info.codec.name(),
                        "; --form and --serialize are for dct-chop");
  }
  const Shape shape = slice != nullptr ? slice->shape() : info.shape;
  TRY(const TensorFormat format, format_of_output(request_.path, request_.raw));
  if (format != TensorFormat::array) {
    if (!request_.raw) RETURN_IF_ERROR(check_type_in_name(request_.path, info.dtype));
    TRY(file_, files::create_tensor(
                   request_.path, info.dtype, shape,
                   {.raw = format == TensorFormat::raw, .made_from = request_.made_from}));
    return file_.get();
  }
  TRY(auto notes, files::netcdf_notes(info.attributes));
  if (notes && slice != nullptr) notes = files::notes_of_part(*notes, *slice, info.shape);
  TRY(const stream::History history, stream::history_with(info));
  TRY(file_, files::create_netcdf_tensor(request_.path, info.dtype, shape, notes,
                                         promised_error(info), history, request_.made_from));
  return file_.get();
}

}  // namespace tensorpress::cli
