# What `cmake --install` copies: the library with its headers, what CMake and pkg-config need to find it, and the program.
# The tree may be moved after it was installed: nothing in it knows an absolute path.
include(CMakePackageConfigHelpers)

install(TARGETS tensorpress EXPORT tensorpress INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(TARGET tensorpress_shared)
  install(TARGETS tensorpress_shared EXPORT tensorpress INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endif()
if(TARGET tensorpress_wafer)
  install(TARGETS tensorpress_wafer EXPORT tensorpress INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/tensorpress DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
foreach(program IN ITEMS tensorpress_program tensorpress_mpi)
  if(TARGET ${program})
    install(TARGETS ${program})
  endif()
endforeach()
# The manual page and the completion for bash come from the programs themselves.
if(TARGET tensorpress_program AND (NOT CMAKE_CROSSCOMPILING OR CMAKE_CROSSCOMPILING_EMULATOR))
  set(manual ${PROJECT_BINARY_DIR}/tensorpress.1)
  set(completion ${PROJECT_BINARY_DIR}/tensorpress.bash)
  add_custom_command(OUTPUT ${manual} ${completion} DEPENDS tensorpress_program VERBATIM
    COMMAND tensorpress_program --man > ${manual}
    COMMAND tensorpress_program --completion-bash > ${completion})
  add_custom_target(tensorpress_manual ALL DEPENDS ${manual} ${completion})
  install(FILES ${manual} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${completion} DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME tensorpress)
endif()
if(TARGET tensorpress_hdf5)
  # HDF5_PLUGIN_PATH points here; `cmake --install --component hdf5` takes the filter alone.
  install(TARGETS tensorpress_hdf5 LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/hdf5/plugin COMPONENT hdf5)
endif()

# A C program that links the static library must name the C++ runtime, which a C compiler does not know of.
set(cxx_runtime ${CMAKE_CXX_IMPLICIT_LINK_LIBRARIES})
list(FILTER cxx_runtime INCLUDE REGEX "^(stdc[+][+]|c[+][+]|c[+][+]abi|m)$")
list(REMOVE_DUPLICATES cxx_runtime)

# find_package(tensorpress) gives tensorpress::tensorpress. Below 1.0 a minor version may break callers.
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/tensorpress)
install(EXPORT tensorpress NAMESPACE tensorpress:: FILE tensorpress-targets.cmake DESTINATION ${package_folder})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/tensorpress-config.cmake.in
  ${PROJECT_BINARY_DIR}/tensorpress-config.cmake INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tensorpress-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tensorpress-config.cmake ${PROJECT_BINARY_DIR}/tensorpress-config-version.cmake
        DESTINATION ${package_folder})

# The .pc file finds its prefix from where it lies itself. It names the static library, whose programs run without a path
# to a shared one; a static library hands its threads and its C++ runtime on to the caller.
file(RELATIVE_PATH pc_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
cmake_path(APPEND pc_libdir "\${prefix}" ${CMAKE_INSTALL_LIBDIR})
cmake_path(APPEND pc_includedir "\${prefix}" ${CMAKE_INSTALL_INCLUDEDIR})
list(TRANSFORM cxx_runtime PREPEND -l OUTPUT_VARIABLE pc_private_libs)
# Always: CMake leaves it out where the C library of this machine needs no flag, and others may.
list(APPEND pc_private_libs -pthread)
list(JOIN pc_private_libs " " pc_private_libs)
configure_file(${CMAKE_CURRENT_LIST_DIR}/tensorpress.pc.in ${PROJECT_BINARY_DIR}/tensorpress.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tensorpress.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
