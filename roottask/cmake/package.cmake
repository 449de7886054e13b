# SPDX-License-Identifier: BSD-2-Clause
#
# Installs the targets of the export set `cellreap` as a CMake package, with the public headers. The
# core for the host, and the libraries for a target, each need a prefix of their own. Installed
# files must not refer to the checkout.
include(CMakePackageConfigHelpers)
include("${CMAKE_CURRENT_LIST_DIR}/version.cmake")

set(PACKAGE lib/cmake/cellreap)
get_filename_component(CHECKOUT "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)
install(DIRECTORY "${CHECKOUT}/roottask/include/cellreap" DESTINATION include
        FILES_MATCHING PATTERN "*.h")
install(EXPORT cellreap NAMESPACE cellreap:: FILE cellreap-targets.cmake DESTINATION ${PACKAGE})
set(CELLREAP_FOR "the host")
if(CELLREAP_ARCH)
  set(CELLREAP_FOR "${CELLREAP_ARCH}")
endif()
configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/cellreap-config.cmake.in"
                              cellreap-config.cmake INSTALL_DESTINATION ${PACKAGE})
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/cellreap-config.cmake" DESTINATION ${PACKAGE})
cellreap_install_version(cellreap ${PACKAGE})
