# Flags for our own targets; nothing is forced on consumers.
add_library(tensorpress_flags INTERFACE)
target_compile_features(tensorpress_flags INTERFACE cxx_std_20)
# Streams must be the same bytes everywhere: a*b+c is two roundings on every machine.
# GCC 12 warns of overlapping copies inside std::string's own operator+ (GCC bug 105651), hence -Wno-restrict.
# Paths in messages and debug information start at the top of the tree, so neither the program nor the compiler cache
# depends on where it was built.
target_compile_options(tensorpress_flags INTERFACE
  -ffp-contract=off -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  $<$<BOOL:${TENSORPRESS_WERROR}>:-Werror>)
# For targets whose time does not matter, such as verbs and tests: templates of CLI11, JSON and GoogleTest take half as long to
# compile, and instrumented ones half as long again without optimization. The last -O counts.
function(tensorpress_compile_quickly target)
  if(TENSORPRESS_SANITIZE)
    target_compile_options(${target} PRIVATE -O0)
  else()
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
endfunction()
if(TENSORPRESS_SANITIZE)
  target_compile_options(tensorpress_flags INTERFACE -fsanitize=${TENSORPRESS_SANITIZE} -fno-sanitize-recover=all
                         -fno-omit-frame-pointer)
  target_link_options(tensorpress_flags INTERFACE -fsanitize=${TENSORPRESS_SANITIZE})
endif()
