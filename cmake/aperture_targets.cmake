# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
# One function for each kind of target, so that a CMakeLists.txt only lists files.

# Precompiled for libraries: without this they are a tenth to a third of the time of compiling a source.
set(library_headers <algorithm> <array> <cmath> <complex> <functional> <map> <memory> <optional> <set> <span>
                    <sstream> <string> <utility> <vector>)

# aperture_compile_together(TARGET): with sanitizers the sources are compiled eight at a time, in half
# the time. Other builds compile each by itself: that shows whether it includes what it needs, and a
# program links only those sources of a library that it calls.
function(aperture_compile_together target)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ${APERTURE_SANITIZE})
endfunction()

# aperture_library(NAME SOURCES ... GPU_SOURCES ... LINK ... PRIVATE_LINK ...)
# The static library aperture_NAME, known as aperture::NAME. GPU_SOURCES are built where CUDA is.
function(aperture_library name)
    cmake_parse_arguments(arg "" "" "SOURCES;GPU_SOURCES;LINK;PRIVATE_LINK" ${ARGN})
    set(target aperture_${name})
    add_library(${target} STATIC ${arg_SOURCES})
    add_library(aperture::${name} ALIAS ${target})
    set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
    if(APERTURE_CUDA)
        target_sources(${target} PRIVATE ${arg_GPU_SOURCES})
    endif()
    target_include_directories(${target}
        PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>
               $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
        PRIVATE ${PROJECT_SOURCE_DIR})
    target_link_libraries(${target}
        PUBLIC ${arg_LINK}
        PRIVATE $<BUILD_INTERFACE:aperture_options> ${arg_PRIVATE_LINK})
    target_precompile_headers(${target} PRIVATE ${library_headers})
    install(TARGETS ${target} EXPORT aperture_targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
    install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING
            PATTERN "*.hpp" PATTERN "*.cuh")
endfunction()

# aperture_program(NAME SOURCES ... LINK ...): an installed program in build/PRESET/bin.
function(aperture_program name)
    cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
    add_executable(${name} ${arg_SOURCES})
    target_link_libraries(${name} PRIVATE aperture_options ${arg_LINK})
    install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    set_property(GLOBAL APPEND PROPERTY aperture_executables ${name})
endfunction()

# aperture_test_library(NAME SOURCES ... LINK ...): code that checks results, mainly oracles. It is
# compiled quickly and without sanitizers, since it is not under test.
function(aperture_test_library name)
    cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
    add_library(${name} STATIC ${arg_SOURCES})
    target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
    target_include_directories(${name} SYSTEM PUBLIC ${EIGEN3_INCLUDE_DIRS})
    target_link_libraries(${name} PUBLIC aperture_options ${arg_LINK} GTest::gmock)
    # g++ 12 warns about the intrinsics behind Eigen's vector types.
    target_compile_definitions(${name} PUBLIC EIGEN_DONT_VECTORIZE)
    target_compile_options(${name} PRIVATE -O1)
    set_target_properties(${name} PROPERTIES UNSANITIZED ON UNITY_BUILD ${APERTURE_TESTS_TOGETHER})
endfunction()

# aperture_test_options(NAME UNSANITIZED): options that all targets which share a precompiled header
# must have alike.
function(aperture_test_options name unsanitized)
    target_link_libraries(${name} PRIVATE aperture_options GTest::gmock GTest::gtest_main aperture_simt)
    # -O3 costs more compile time than it saves run time; -Og, a quarter less than -O1, suffices
    # where tests only call libraries.
    if(unsanitized)
        set(level -Og)
    else()
        set(level -O1)
        target_compile_options(${name} PRIVATE ${unchecked_scopes})
    endif()
    target_compile_options(${name} PRIVATE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:${level}>)
    set_target_properties(${name} PROPERTIES UNSANITIZED ${unsanitized})
endfunction()

# aperture_test_headers(NAME UNSANITIZED): GoogleTest's headers, precompiled for tests. Without this
# they are a third of the time of compiling a test.
function(aperture_test_headers name unsanitized)
    # A program, since objects of libraries have other options.
    add_executable(${name} EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/tests/test_headers.cpp)
    aperture_test_options(${name} ${unsanitized})
    target_precompile_headers(${name} PRIVATE <gmock/gmock.h>)
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
endfunction()

# aperture_test(NAME [UNSANITIZED] SOURCES ... GPU_SOURCES ... LINK ... ENVIRONMENT VARIABLE=VALUE...):
# a GoogleTest program.
# ctest runs it in shares NAME.1, NAME.2, ..., because a process for each test would take longer to
# start than to run. Each share writes a report, which scripts/count_tests reads. Tests may include
# kernels (.cuh) and run them on the SIMT executor. UNSANITIZED: all code under test is in
# libraries. These are sanitized, and so are their accesses to the caller's memory.
function(aperture_test name)
    set(shares 6)
    set(results ${PROJECT_BINARY_DIR}/Testing/results)
    cmake_parse_arguments(arg "UNSANITIZED" "" "SOURCES;GPU_SOURCES;LINK;ENVIRONMENT" ${ARGN})
    add_executable(${name} ${arg_SOURCES})
    if(APERTURE_CUDA)
        target_sources(${name} PRIVATE ${arg_GPU_SOURCES})
    endif()
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
    target_include_directories(${name} SYSTEM PRIVATE ${EIGEN3_INCLUDE_DIRS})
    target_link_libraries(${name} PRIVATE ${arg_LINK})
    aperture_test_options(${name} ${arg_UNSANITIZED})
    if(arg_UNSANITIZED)
        target_precompile_headers(${name} REUSE_FROM test_headers_unsanitized)
    else()
        target_precompile_headers(${name} REUSE_FROM test_headers)
    endif()
    set_target_properties(${name} PROPERTIES UNITY_BUILD ${APERTURE_TESTS_TOGETHER}
                          RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
    set_property(GLOBAL APPEND PROPERTY aperture_executables ${name})
    foreach(share RANGE 1 ${shares})
        math(EXPR index "${share} - 1")
        add_test(NAME ${name}.${share} COMMAND ${name} --gtest_brief=1)
        set(environment ${arg_ENVIRONMENT} GTEST_TOTAL_SHARDS=${shares} GTEST_SHARD_INDEX=${index}
            GTEST_OUTPUT=xml:${results}/${name}.${share}.xml)
        set_tests_properties(${name}.${share} PROPERTIES TIMEOUT 1200 ENVIRONMENT "${environment}")
    endforeach()
endfunction()

# aperture_benchmark(NAME SOURCES ... GPU_SOURCES ... LINK ...): a Google Benchmark program; ctest
# runs it once on tiny sizes (its own flag --smoke), so that it keeps working.
function(aperture_benchmark name)
    cmake_parse_arguments(arg "" "" "SOURCES;GPU_SOURCES;LINK" ${ARGN})
    add_executable(${name} ${arg_SOURCES})
    if(APERTURE_CUDA)
        target_sources(${name} PRIVATE ${arg_GPU_SOURCES})
    endif()
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
    target_include_directories(${name} SYSTEM PRIVATE ${EIGEN3_INCLUDE_DIRS})
    target_link_libraries(${name} PRIVATE aperture_options ${arg_LINK} benchmark::benchmark)
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench)
    set_property(GLOBAL APPEND PROPERTY aperture_executables ${name})
    if(APERTURE_TESTS)
        add_test(NAME bench_smoke.${name} COMMAND ${name} --smoke)
    endif()
endfunction()
