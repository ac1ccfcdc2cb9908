# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
# For a node with only CUDA's run-time libraries: copies every other shared library that the
# programs, tests and benchmarks need, except glibc's, to lib/, where $ORIGIN finds it. Include this
# file before the first target, and call aperture_collect_libraries() after the last.

set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
set(CMAKE_INSTALL_RPATH "$ORIGIN/../lib")
# DT_RPATH, unlike DT_RUNPATH, also applies to the libraries' own dependencies.
add_link_options(-Wl,--disable-new-dtags)

function(aperture_collect_libraries)
    get_property(executables GLOBAL PROPERTY aperture_executables)
    set(files "")
    foreach(executable ${executables})
        list(APPEND files $<TARGET_FILE:${executable}>)
    endforeach()
    add_custom_target(node_libraries ALL
        COMMAND ${CMAKE_COMMAND} "-DEXECUTABLES=${files}" -DDIRECTORY=${PROJECT_BINARY_DIR}/lib
                -P ${PROJECT_SOURCE_DIR}/cmake/copy_needed_libraries.cmake
        DEPENDS ${executables} VERBATIM)
endfunction()
