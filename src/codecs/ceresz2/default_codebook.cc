#include "codecs/ceresz2/codebook.h"

namespace tensorpress::ceresz2 {

const std::string_view kDefaultCodebookText = "J1024";

}  // namespace tensorpress::ceresz2
