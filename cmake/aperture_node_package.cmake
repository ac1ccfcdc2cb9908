# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
# For a node that has only CUDA's run-time libraries: every shared library that the programs, tests
# and benchmarks need besides CUDA's and glibc's is copied into lib/, where $ORIGIN finds it.
# Included before the first target; aperture_collect_libraries() is called after the last.

set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
set(CMAKE_INSTALL_RPATH "$ORIGIN/../lib")
# DT_RPATH, not DT_RUNPATH: it also serves the libraries' own needs.
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
