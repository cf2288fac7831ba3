// The study of static codebooks for a reader: a page with plots, or text for a terminal.
#pragma once

#include <string>

#include "benchmark/studies/codebook_study.h"

namespace tensorpress::report {

/// `bound` in words: "REL 1e-4".
std::string codebook_study_html(const benchmark::CodebookStudy& study, const std::string& bound);
std::string codebook_study_text(const benchmark::CodebookStudy& study, const std::string& bound);

}  // namespace tensorpress::report
