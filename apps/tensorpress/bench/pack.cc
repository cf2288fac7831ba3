#include "pack.h"

#include "base/errors.h"
#include "benchmark/studies/pack_study.h"
#include "command_line/reports/formatted.h"
#include "command_line/reports/json_output.h"

namespace tensorpress::cli {
namespace {

constexpr const char* kHeading =
    "what                       values  ratio   memcpy     pack  (of memcpy)   unpack  (of "
    "memcpy)\n";

std::string to_text(const benchmark::PackSpeed& speed) {
  return formatted("%-26s %-6s %6.2f %8.2f %8.2f %12.2f %8.2f %12.2f\n", speed.what.c_str(),
                   std::string(name_of(speed.dtype)).c_str(), speed.ratio, speed.memcpy_gb_per_s,
                   speed.pack_gb_per_s, speed.pack_gb_per_s / speed.memcpy_gb_per_s,
                   speed.unpack_gb_per_s, speed.unpack_gb_per_s / speed.memcpy_gb_per_s);
}

Json to_json(const benchmark::PackSpeed& speed) {
  return {{"what", speed.what},
          {"dtype", name_of(speed.dtype)},
          {"ratio", speed.ratio},
          {"memcpy_gb_per_s", speed.memcpy_gb_per_s},
          {"pack_gb_per_s", speed.pack_gb_per_s},
          {"unpack_gb_per_s", speed.unpack_gb_per_s}};
}

}  // namespace

Result<Report> run_pack_bench(std::uint64_t megabytes, int repetitions, Reporter& reporter) {
  if (megabytes < 1 || megabytes > 65536) {
    return bad_argument("--megabytes is ", megabytes, "; it must be from 1 to 65536");
  }
  if (repetitions < 1) {
    return bad_argument("--repetitions is ", repetitions, "; it must be at least 1");
  }
  reporter.show(kHeading);
  Json rows = Json::array();
  const auto take = [&](const benchmark::PackSpeed& speed) {
    reporter.show(to_text(speed));
    rows.push_back(to_json(speed));
  };
  RETURN_IF_ERROR(benchmark::run_pack_study(
      {.bytes = static_cast<std::size_t>(megabytes) << 20, .repetitions = repetitions}, take));
  return Report{.json = json_text(rows)};
}

}  // namespace tensorpress::cli
