# SPDX-License-Identifier: BSD-2-Clause
#
# Installs the file that tells find_package which version a package is. A request is answered by a
# package of the same minor version, as long as the major one is 0.
include(CMakePackageConfigHelpers)

function(cellreap_install_version name folder)
  file(STRINGS "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../include/cellreap/version.h" line
       REGEX "^#define CR_VERSION ")
  string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" version "${line}")
  if(NOT version)
    message(FATAL_ERROR "version.h: expected #define CR_VERSION with three numbers")
  endif()
  set(file "${CMAKE_CURRENT_BINARY_DIR}/${name}-config-version.cmake")
  write_basic_package_version_file("${file}" VERSION ${version} COMPATIBILITY SameMinorVersion)
  install(FILES "${file}" DESTINATION ${folder})
endfunction()
