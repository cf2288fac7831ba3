// Codec ceresz: error-bounded, the fast one.
#pragma once

#include <memory>

#include "codecs/bounded/field_coder.h"

namespace tensorpress {

std::unique_ptr<bounded::FieldCoder> make_ceresz();

}  // namespace tensorpress
