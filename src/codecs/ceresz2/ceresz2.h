// Codec ceresz2: error-bounded, with the static Huffman codebook of the CereSZ-II paper.
#pragma once

#include <memory>
#include <string_view>

#include "codecs/bounded/field_coder.h"
#include "codecs/ceresz2/codebook.h"
#include "tensorpress/result.h"

namespace tensorpress {

/// `codebook` is "default" or Codebook::to_text().
Result<std::unique_ptr<bounded::FieldCoder>> make_ceresz2(std::string_view codebook);

namespace ceresz2 {

/// Adds up what `field`, coded as one chunk, would look up in its codebook. With the counts of all
/// chunks, Codebook::from_counts is the best codebook for them.
void count_deltas(const bounded::Field<float>& field, double bound, DeltaCounts& counts);
void count_deltas(const bounded::Field<double>& field, double bound, DeltaCounts& counts);

}  // namespace ceresz2
}  // namespace tensorpress
