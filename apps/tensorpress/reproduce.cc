// tensorpress reproduce: recomputes what the papers print, beside the printed figures.
#include <array>
#include <cstdio>
#include <memory>

#include "base/errors.h"
#include "benchmark/table4.h"
#include "json_output.h"
#include "messages.h"
#include "report/numbers.h"
#include "tensor_options.h"
#include "verb.h"

namespace tensorpress::cli {
namespace {

using benchmark::RatioRange;
using benchmark::Table4Row;
using report::fixed;

struct Options {
  std::string name;
  std::string data;
  ThreadsOption threads;
  bool json = false;
};

struct Reproduction {
  const char* name;
  const char* summary;
  const char* needs;
  Result<ExitStatus> (*run)(const Options& options);
};

std::string in_words(const std::optional<RatioRange>& range) {
  if (!range) return "      -       -       -";
  std::string words;
  for (const double value : {range->min, range->max, range->avg}) {
    const std::string number = fixed(value, 2);
    words += std::string(number.size() < 7 ? 7 - number.size() : 0, ' ') + number + ' ';
  }
  words.pop_back();
  return words;
}

Json to_json(const std::optional<RatioRange>& range) {
  if (!range) return nullptr;
  return {{"min", range->min}, {"max", range->max}, {"avg", range->avg}};
}

Json row_to_json(const Table4Row& row) {
  Json object = {{"data_set", row.data_set},
                 {"bound", Bound::relative(row.bound).to_string()},
                 {"codec", row.codec},
                 {"fields", row.fields},
                 {"measured_ratio", to_json(row.measured)},
                 {"published_ratio", to_json(row.published)}};
  if (!row.cannot.empty()) object["cannot"] = row.cannot;
  return object;
}

void print_row(const Table4Row& row) {
  std::printf("%-12s %-10s %-11s %6zu  %s   %s%s%s\n", row.data_set.c_str(),
              Bound::relative(row.bound).to_string().c_str(), row.codec.c_str(), row.fields,
              in_words(row.measured).c_str(), in_words(row.published).c_str(),
              row.cannot.empty() ? "" : "   ", row.cannot.c_str());
}

Result<ExitStatus> run_table4(const Options& options) {
  if (options.data.empty()) {
    return bad_argument(
        "table4 needs --data DIR with a folder for each data set of SDRBench (CESM-ATM, HACC, "
        "Hurricane, NYX, QMCPack, RTM, SCALE), or any of them");
  }
  TRY(const auto found, benchmark::find_table4_data(options.data));
  std::string missing;
  for (const std::string& name : found.missing) missing += text(missing.empty() ? "" : ", ", name);
  if (found.data_sets.empty()) {
    return bad_argument(options.data, " has no folder with fields; missing are ", missing,
                        " (sdrbench.github.io has them)");
  }
  Json rows = Json::array();
  if (!options.json) {
    std::puts(
        "Table IV of CereSZ-II: compression ratios over the fields of a data set\n"
        "data set     bound      codec       fields  measured here             published\n"
        "                                               min     max     avg       min     max     "
        "avg");
  }
  for (const auto& data_set : found.data_sets) {
    for (const std::string& sentence : data_set.skipped) {
      print_message(text(data_set.name, ": left out: ", sentence));
    }
    TRY(const auto measured, benchmark::measure_table4(data_set, options.threads.threads()));
    for (const Table4Row& row : measured) {
      if (options.json) {
        rows.push_back(row_to_json(row));
      } else {
        print_row(row);
      }
    }
    std::fflush(stdout);
  }
  if (options.json) {
    print_json({{"reproduces", "CereSZ-II, Table IV"}, {"missing", found.missing}, {"rows", rows}},
               stdout);
  } else if (!missing.empty()) {
    std::printf("Not in %s: %s\n", options.data.c_str(), missing.c_str());
  }
  return ExitStatus::fine;
}

constexpr std::array kReproductions = {
    Reproduction{"table4", "CereSZ-II, Table IV: ratios of ceresz2, ceresz and cuSZp's format",
                 "--data DIR with folders of SDRBench", run_table4},
};

Result<ExitStatus> list(const Options& options) {
  Json all = Json::array();
  for (const Reproduction& each : kReproductions) {
    if (options.json) {
      all.push_back({{"name", each.name}, {"summary", each.summary}, {"needs", each.needs}});
    } else {
      std::printf("%-10s %s\n           needs %s\n", each.name, each.summary, each.needs);
    }
  }
  if (options.json) print_json(all, stdout);
  return ExitStatus::fine;
}

Result<ExitStatus> run(const Options& options) {
  if (options.name.empty()) return list(options);
  std::string names;
  for (const Reproduction& each : kReproductions) {
    if (options.name == each.name) return each.run(options);
    names += text(names.empty() ? "" : ", ", each.name);
  }
  return bad_argument("'", options.name, "' cannot be reproduced; there is ", names);
}

Action declare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("NAME", options->name, "what to reproduce; without it: what there is")
      ->option_text(" ");
  app.add_option("--data", options->data, "folder with the data")->option_text("DIR");
  options->threads.declare(app);
  app.add_flag("--json", options->json, "print JSON");
  return [options] { return run(*options); };
}

}  // namespace

Verb reproduce_verb() {
  return {"reproduce", "recompute what the papers print, beside the printed figures",
          "  tensorpress reproduce\n"
          "  tensorpress reproduce table4 --data sdrbench",
          declare};
}

}  // namespace tensorpress::cli
