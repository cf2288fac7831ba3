# tensorpress_embed(SOURCES NAMESPACE SYMBOL FOLDER FILES...): files of the tree as part of the program.
# Appends to the list SOURCES a source that defines, in tensorpress::NAMESPACE,
#   extern const std::span<const EmbeddedFile> SYMBOL;
# with one entry a file, named by its path below FOLDER without its ending. A changed file configures anew.
function(tensorpress_embed sources namespace symbol folder)
  set(entries "")
  foreach(file ${ARGN})
    file(READ ${file} content)
    file(RELATIVE_PATH name ${folder} ${file})
    string(REGEX REPLACE "[.][^./]*$" "" name ${name})
    string(APPEND entries "    {\"${name}\", R\"embedded(${content})embedded\"},\n")
  endforeach()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${ARGN})
  set(made ${CMAKE_CURRENT_BINARY_DIR}/embedded/${symbol}.cc)
  file(CONFIGURE OUTPUT ${made} @ONLY CONTENT [[
// Made by the build: cmake/TensorpressEmbed.cmake.
#include <span>

#include "base/embedded.h"

namespace tensorpress::@namespace@ {
namespace {
constexpr EmbeddedFile kFiles[] = {
@entries@};
}  // namespace
extern const std::span<const EmbeddedFile> @symbol@;
const std::span<const EmbeddedFile> @symbol@ = kFiles;
}  // namespace tensorpress::@namespace@
]])
  set(${sources} ${${sources}} ${made} PARENT_SCOPE)
endfunction()
