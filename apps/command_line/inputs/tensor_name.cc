#include "command_line/inputs/tensor_name.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "base/errors.h"
#include "command_line/inputs/paths.h"
#include "files/netcdf/file.h"
#include "files/tensor/raw_format.h"

namespace tensorpress::cli {
namespace {

std::string extension_of(const std::string& path) {
  std::string extension = std::filesystem::path(path).extension().string();
  std::ranges::transform(extension, extension.begin(), [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  });
  return extension;
}

bool is_pipe_or_device(const std::string& path) {
  std::error_code ignored;
  const auto kind = std::filesystem::status(path, ignored).type();
  using std::filesystem::file_type;
  return kind == file_type::fifo || kind == file_type::character || kind == file_type::block ||
         kind == file_type::socket;
}

}  // namespace

Result<TensorFormat> format_of_output(const std::string& path, bool raw) {
  constexpr std::array<std::string_view, 3> kRaw = {".raw", ".bin", ".dat"};
  if (raw) return TensorFormat::raw;
  if (is_pipe(path)) return TensorFormat::npy;
  if (files::is_array_file_name(path)) return TensorFormat::array;
  const std::string extension = extension_of(path);
  if (extension == ".npy") return TensorFormat::npy;
  if (std::ranges::find(kRaw, extension) != kRaw.end() || files::dtype_of_name(path) ||
      is_pipe_or_device(path)) {
    return TensorFormat::raw;
  }
  return bad_argument(
      "'", path, "' ", extension.empty() ? "has no extension" : "is named ", extension,
      extension.empty() ? "" : ", which is not written",
      "; an output is .npy, .nc, .nc4, .cdf, .h5 or .hdf5, or raw numbers as .raw, ",
      ".bin, .dat or .f32 (the type); --raw writes raw numbers under any name");
}

Result<void> check_type_in_name(const std::string& path, DType dtype) {
  const auto named = files::dtype_of_name(path);
  if (!named || *named == dtype) return {};
  return bad_argument("'", path, "' is named as ", name_of(*named), ", and the tensor is ",
                      name_of(dtype), "; name it .", name_of(dtype), " or .raw");
}

}  // namespace tensorpress::cli
