#include "energy.h"

#include "base/errors.h"
#include "benchmark/studies/dct_energy_study.h"
#include "command_line/reports/json_output.h"
#include "files/bytes/text_files.h"
#include "report/pages/dct_energy_page.h"

namespace tensorpress::cli {

Result<Report> run_energy_study(const std::vector<std::string>& files, std::uint64_t most_images,
                                const std::string& page) {
  TRY(const auto energy, benchmark::run_dct_energy_study(files, {.qualities = {10, 25, 50, 75, 90},
                                                                 .most_images = most_images}));
  RETURN_IF_ERROR(files::write_text(page, report::dct_energy_html(energy)));
  Json panels = Json::array();
  for (const auto& panel : energy.panels) {
    panels.push_back({{"channel", panel.channel},
                      {"quality", panel.quality},
                      {"blocks", panel.blocks},
                      {"nonzero_share", panel.nonzero_share}});
  }
  return Report{.text = text(report::dct_energy_text(energy), "The figure is in ", page, "\n"),
                .json = json_text({{"study", "dct-energy"},
                                   {"images", energy.images},
                                   {"panels", std::move(panels)},
                                   {"page", page}})};
}

}  // namespace tensorpress::cli
