# What `cmake --install` leaves in a prefix: the plugin where HDF5 looks for it, nothing of the Python package, a
# pkg-config file that links threads, and a shared library that shows its public names and no others.
# usage: cmake -Dinstall_tree=DIR -Dlibdir=lib -Dplugin=ON|OFF -Dnm=nm -P install_tree.cmake
if(EXISTS ${install_tree}/tensorpress)
  message(FATAL_ERROR "${install_tree}/tensorpress is a part of the Python package, which a prefix does not have")
endif()
if(plugin AND NOT EXISTS ${install_tree}/${libdir}/hdf5/plugin/libh5tensorpress.so)
  message(FATAL_ERROR "the HDF5 plugin is not in ${install_tree}/${libdir}/hdf5/plugin")
endif()
file(READ ${install_tree}/${libdir}/pkgconfig/tensorpress.pc description)
if(NOT description MATCHES "Libs: [^\n]*-pthread")
  message(FATAL_ERROR "tensorpress.pc links no threads:\n${description}")
endif()

execute_process(COMMAND ${nm} --dynamic --defined-only --demangle ${install_tree}/${libdir}/libtensorpress.so
                OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
foreach(shown tensorpress_compress tensorpress_pack tensorpress::StreamWriter::append tensorpress::Codec::make
        "vtable for tensorpress::TensorSource")
  if(NOT symbols MATCHES "${shown}")
    message(FATAL_ERROR "libtensorpress.so does not show ${shown}")
  endif()
endforeach()
foreach(hidden tensorpress::stream:: tensorpress::dense:: tensorpress::kernels:: tensorpress::find_codec XXH)
  if(symbols MATCHES "([^\n]* ${hidden}[^\n]*)")
    message(FATAL_ERROR "libtensorpress.so shows what is internal: ${CMAKE_MATCH_1}")
  endif()
endforeach()
