# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
# An installable package: find_package(aperture) defines aperture::core, aperture::dense, ...

include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/aperture)
install(EXPORT aperture_targets NAMESPACE aperture:: DESTINATION ${package_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/aperture-config.cmake.in
    ${PROJECT_BINARY_DIR}/aperture-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/aperture-config-version.cmake
    COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/aperture-config.cmake
              ${PROJECT_BINARY_DIR}/aperture-config-version.cmake DESTINATION ${package_dir})
