# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
# Keeps the compiler's report on registers, stack frames and spills of a library's kernels.

set(APERTURE_RESOURCE_REPORTS ${PROJECT_BINARY_DIR}/kernel_resources)

# aperture_report_resources(TARGET): writes the report of ptxas on every kernel of TARGET to
# ${APERTURE_RESOURCE_REPORTS}/TARGET/*.ptxas, which tests/spills reads.
function(aperture_report_resources target)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-Xptxas=-v>)
    set_target_properties(${target} PROPERTIES CUDA_COMPILER_LAUNCHER
        "sh;${PROJECT_SOURCE_DIR}/cmake/keep_resource_report.sh;${APERTURE_RESOURCE_REPORTS}/${target};${CMAKE_CUDA_COMPILER_LAUNCHER}")
endfunction()
