#include "wafer_options.h"

#include <charconv>

#include "base/errors.h"
#include "files/bytes/byte_files.h"
#include "files/bytes/text_files.h"

namespace tensorpress::cli {

Result<MeshSize> parse_mesh(std::string_view words) {
  MeshSize mesh{0, 0};  // what is too large leaves 0
  const auto is_number = [](std::errc error) {
    return error == std::errc() || error == std::errc::result_out_of_range;
  };
  const char* const end = words.data() + words.size();
  const auto width = std::from_chars(words.data(), end, mesh.width);
  if (is_number(width.ec) && width.ptr != end && *width.ptr == 'x') {
    const auto height = std::from_chars(width.ptr + 1, end, mesh.height);
    if (is_number(height.ec) && height.ptr == end) {
      if (mesh.width < 1 || mesh.height < 1 || mesh.width > wafer::kUsableWidth ||
          mesh.height > wafer::kUsableHeight) {
        return bad_argument("a mesh of ", words, " PEs; the wafer has room for 1x1 to ",
                            wafer::kUsableWidth, "x", wafer::kUsableHeight,
                            " (width x height) beside what moves data on and off");
      }
      return mesh;
    }
  }
  return bad_argument("--mesh ", words, " is not a mesh; write width x height, like 100x50");
}

Result<void> write_bytes(const std::string& path, std::span<const std::byte> bytes) {
  TRY(const auto file, files::AtomicFile::create(path));
  RETURN_IF_ERROR(file->append(bytes));
  return file->finish();
}

void CalibrationOption::declare(Arguments& arguments) {
  arguments.option("--calibration", file_, "constants of the machine other than the built-in ones")
      .shown_as("FILE.json");
}

Result<wafer::Calibration> CalibrationOption::calibration() const {
  if (file_.empty()) return wafer::Calibration::standard();
  constexpr std::uint64_t kLargestFile = std::uint64_t{1} << 20;
  TRY(const std::string words, files::read_text(file_, kLargestFile, "a calibration"));
  auto calibration = wafer::Calibration::from_json(words);
  if (!calibration.ok()) return bad_argument(file_, ": ", calibration.error().message);
  return calibration;
}

}  // namespace tensorpress::cli
