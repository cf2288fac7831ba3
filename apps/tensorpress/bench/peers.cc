#include "peers.h"

#include <algorithm>

#include "base/errors.h"
#include "benchmark/contest.h"
#include "benchmark/own_contenders.h"
#include "benchmark/peers/peers.h"
#include "benchmark/peers/plugin_path.h"
#include "command_line/reports/json_output.h"
#include "command_line/reports/messages.h"
#include "files/bytes/text_files.h"
#include "files/tensor/raw_format.h"
#include "report/pages/contest_page.h"

namespace tensorpress::cli {
namespace {

using benchmark::Contender;
using benchmark::ContestRow;
using Contenders = std::vector<std::unique_ptr<Contender>>;

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    if (end > begin) parts.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::string joined(const std::vector<std::string>& parts, std::string_view between) {
  std::string out;
  for (const std::string& part : parts) out += text(out.empty() ? "" : between, part);
  return out;
}

bool contains(const std::vector<std::string>& list, const std::string& item) {
  return std::ranges::find(list, item) != list.end();
}

/// Ours and theirs in turns: a machine that slows down for a while hurts both.
Contenders alternating(Contenders ours, Contenders theirs) {
  Contenders all;
  for (std::size_t i = 0; i < std::max(ours.size(), theirs.size()); ++i) {
    if (i < ours.size()) all.push_back(std::move(ours[i]));
    if (i < theirs.size()) all.push_back(std::move(theirs[i]));
  }
  return all;
}

/// The codecs that the user named, all of which must be there, or all that can be run. In the
/// second case, remarks say which peers are missing; it is an error if all are.
Result<Contenders> contenders_of(const PeersOptions& options, Reporter& reporter) {
  const auto own_names = benchmark::own_contender_names();
  const auto peer_names = benchmark::peer_names();
  const bool asked = !options.codecs.empty();
  std::vector<std::string> wanted = split(options.codecs);
  if (!asked) {
    wanted = own_names;
    wanted.insert(wanted.end(), peer_names.begin(), peer_names.end());
  }
  Contenders ours;
  std::vector<std::string> theirs;
  for (const std::string& name : wanted) {
    if (contains(peer_names, name)) {
      theirs.push_back(name);
    } else if (contains(own_names, name)) {
      TRY(auto contender, benchmark::own_contender(name));
      ours.push_back(std::move(contender));
    } else {
      return bad_argument("'", name, "' cannot be compared; ours are ", joined(own_names, ", "),
                          " and the others ", joined(peer_names, ", "));
    }
  }
  if (theirs.empty()) return ours;
  auto peers = benchmark::find_peers(theirs, benchmark::find_plugin_path(options.plugin_path));
  if (!peers.missing.empty() && (asked || peers.contenders.empty())) {
    return unsupported(joined(peers.missing, "; "));
  }
  for (const std::string& sentence : peers.missing) reporter.remark(sentence);
  return alternating(std::move(ours), std::move(peers.contenders));
}

Result<benchmark::LoadedField> load(const std::string& file, const PeersOptions& options) {
  const auto raw = options.raw ? options.raw : files::raw_format_of_file(file);
  TRY(const auto source, about(file, files::open_tensor(file, raw, files::Access::random)));
  AlignedBuffer scratch;
  TRY(const TensorView view, source->read(Region::whole(source->shape()), scratch));
  return benchmark::load_field(files::field_name_of(file), view, options.fill_values);
}

Json to_json(const ContestRow& row, int repetitions) {
  Json object = {{"field", row.field},
                 {"codec", row.codec},
                 {"bound", row.bound.requested.to_string()},
                 {"absolute_bound", row.bound.absolute},
                 {"threads", row.threads},
                 {"repetitions", repetitions},
                 {"lossless", row.lossless},
                 {"bytes_in", row.bytes_in}};
  if (!row.cannot.empty()) {
    object["cannot"] = row.cannot;
    return object;
  }
  object["bytes_out"] = row.bytes_out;
  object["ratio"] = json_number(row.ratio);
  object["bits_per_value"] = json_number(row.bits_per_value);
  object["max_abs_error"] = json_number(row.max_abs_error);
  object["max_rel_error"] = json_number(row.max_rel_error);
  object["psnr_db"] = json_number(row.psnr_db);
  object["nrmse"] = json_number(row.nrmse);
  object["compress_gb_per_s"] = row.compress_gb_per_s;
  object["decompress_gb_per_s"] = row.decompress_gb_per_s;
  object["memcpy_gb_per_s"] = row.memcpy_gb_per_s;
  object["kept_bound"] = row.kept_bound;
  return object;
}

}  // namespace

Result<Report> run_peers(const PeersOptions& options, Reporter& reporter) {
  if (options.files.empty()) return bad_argument("--peers needs files to compare on");
  TRY(const Contenders contenders, contenders_of(options, reporter));
  benchmark::keep_freed_memory();
  std::vector<ContestRow> rows;
  reporter.show(report::contest_text_heading());
  for (const std::string& file : options.files) {
    TRY(const auto field, load(file, options));
    for (const Bound& bound : options.bounds) {
      TRY(const auto resolved, field.resolve(bound));
      auto measured =
          benchmark::run_contest(field, resolved, contenders, {.repetitions = options.repetitions});
      // Ours first, as they were listed.
      std::ranges::stable_partition(measured, [](const ContestRow& row) {
        return contains(benchmark::own_contender_names(), row.codec);
      });
      for (ContestRow& row : measured) {
        reporter.show(report::contest_text(row));
        rows.push_back(std::move(row));
      }
    }
  }
  Report report{.text = report::contest_text_summary(rows)};
  if (!options.html.empty()) {
    RETURN_IF_ERROR(files::write_text(options.html, report::contest_html(rows)));
    report.text += text("\nThe page is ", options.html, "\n");
  }
  Json list = Json::array();
  for (const ContestRow& row : rows) list.push_back(to_json(row, options.repetitions));
  report.json = json_text(list);
  return report;
}

}  // namespace tensorpress::cli
