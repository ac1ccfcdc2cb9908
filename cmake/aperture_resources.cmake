# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
# Keeps the compiler's report on registers, stack frames and spills of a library's kernels.

set(APERTURE_RESOURCE_REPORTS ${PROJECT_BINARY_DIR}/kernel_resources)

# aperture_report_resources(TARGET [SOURCE...]): writes the report of ptxas on every kernel of TARGET
# to ${APERTURE_RESOURCE_REPORTS}/TARGET/*.ptxas. tests/spills checks kernels of SOURCE..., which are
# therefore optimised in every build.
function(aperture_report_resources target)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-Xptxas=-v>)
    if(quick_kernels AND ARGN)
        set_target_properties(${target} PROPERTIES CHECKED_KERNELS ON)
        get_target_property(quick_sources ${target} SOURCES)
        list(FILTER quick_sources INCLUDE REGEX "[.]cu$")
        list(REMOVE_ITEM quick_sources ${ARGN})
        set_property(SOURCE ${quick_sources} APPEND PROPERTY COMPILE_OPTIONS ${quick_kernels})
    endif()
    set_target_properties(${target} PROPERTIES CUDA_COMPILER_LAUNCHER
        "sh;${PROJECT_SOURCE_DIR}/cmake/keep_resource_report.sh;${APERTURE_RESOURCE_REPORTS}/${target};${CMAKE_CUDA_COMPILER_LAUNCHER}")
endfunction()
