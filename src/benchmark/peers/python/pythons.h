// Python interpreters that may have the packages of other compressors.
#pragma once

#include <string>
#include <vector>

namespace tensorpress::benchmark {

/// That of the active virtual environment, that of `.venv` in the tree this program was built in,
/// python3.
std::vector<std::string> pythons();

/// The first line that `python -c question` prints; "" if it fails.
std::string answer_of(const std::string& python, const char* question);

}  // namespace tensorpress::benchmark
