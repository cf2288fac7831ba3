# What `cmake --install` leaves in a prefix: the plugin where HDF5 looks for it, nothing of the Python package, and a
# pkg-config file that links threads.
# usage: cmake -Dinstall_tree=DIR -Dlibdir=lib -Dplugin=ON|OFF -P install_tree.cmake
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
