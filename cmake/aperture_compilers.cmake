# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
# Compilers, language standards, warnings and sanitizers.

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)

# If an nvidia device node exists, there is a GPU. From here on APERTURE_CUDA is ON or OFF.
set(has_gpu OFF)
if(EXISTS /dev/nvidiactl)
    set(has_gpu ON)
endif()
if(APERTURE_CUDA STREQUAL AUTO AND NOT has_gpu)
    message(STATUS "Aperture: no GPU here; building for the CPU only (-DAPERTURE_CUDA=ON compiles kernels all the same)")
    set(APERTURE_CUDA OFF)
elseif(APERTURE_CUDA)
    include(CheckLanguage)
    if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX} AND EXISTS /usr/local/cuda/bin/nvcc)
        set(CMAKE_CUDA_COMPILER /usr/local/cuda/bin/nvcc)
    endif()
    check_language(CUDA)
    if(CMAKE_CUDA_COMPILER)
        set(APERTURE_CUDA ON)
    elseif(APERTURE_CUDA STREQUAL AUTO)
        message(STATUS "Aperture: no CUDA compiler found; building for the CPU only")
        set(APERTURE_CUDA OFF)
    else()
        message(FATAL_ERROR "Aperture: APERTURE_CUDA is ON, but there is no CUDA compiler; name it with -DCMAKE_CUDA_COMPILER")
    endif()
endif()

if(APERTURE_CUDA)
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
        # Without a GPU: 8.0 is the minimum supported version, and the driver compiles its code for
        # newer GPUs.
        if(has_gpu)
            set(CMAKE_CUDA_ARCHITECTURES native)
        else()
            set(CMAKE_CUDA_ARCHITECTURES 80-virtual 90-real)
        endif()
    endif()
    enable_language(CUDA)
    # CMake 3.25.1 does not know the C++20 flag of CUDA 13's nvcc.
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
    list(APPEND CMAKE_CUDA_COMPILE_FEATURES cuda_std_20)
    set(CMAKE_CUDA_STANDARD 20)
    set(CMAKE_CUDA_STANDARD_REQUIRED ON)
    set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
    find_package(CUDAToolkit REQUIRED)
    message(STATUS "Aperture: CUDA ${CUDAToolkit_VERSION}, architectures ${CMAKE_CUDA_ARCHITECTURES}")
endif()

add_library(aperture_options INTERFACE)
target_compile_options(aperture_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wnon-virtual-dtor -fno-math-errno>
    # Where sources are compiled together, names of one may hide those of another.
    $<$<COMPILE_LANGUAGE:CXX>:$<IF:$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>,-Wno-subobject-linkage,-Wshadow>>
    # g++ frees memory that it no longer needs from 128 MB on. Later, at 500 MB, that saves up to a
    # tenth of the time of compiling.
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=500000>
    # Options of g++ alone; the braces of nested tables; what clang 19 makes of some new processors.
    $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-unknown-warning-option -Wno-missing-braces -Wno-pass-failed
                                           -Wno-invalid-feature-combination>
    $<$<COMPILE_LANGUAGE:CUDA>:--Werror=all-warnings -Xcompiler=-Wall,-Wextra --extended-lambda
                               --expt-relaxed-constexpr --diag-suppress=20012>)
if(APERTURE_CUDA AND CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
    if(APERTURE_CUDA_QUICK)
        # Halves the time of compiling most kernels. Of a target with the property CHECKED_KERNELS
        # (aperture_resources.cmake) only some sources have it.
        set(quick_kernels --Ofast-compile=max)
        set(quick $<AND:$<COMPILE_LANGUAGE:CUDA>,$<NOT:$<BOOL:$<TARGET_PROPERTY:CHECKED_KERNELS>>>>)
        target_compile_options(aperture_options INTERFACE $<${quick}:${quick_kernels}>)
    else()
        # A quarter of the size; every driver of CUDA 13 loads it, but not every one of CUDA 12.
        target_compile_options(aperture_options INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:--compress-mode=size>)
    endif()
endif()
# A program loads only the libraries that it calls, not all that our static libraries may call.
target_link_options(aperture_options INTERFACE LINKER:--as-needed)
if(APERTURE_NATIVE)
    target_compile_options(aperture_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-march=native>)
endif()
if(APERTURE_SANITIZE)
    # Omitted checks take long to compile; the hardware or AddressSanitizer detects their errors.
    set(sanitizers -fsanitize=address,undefined
        -fno-sanitize=null,object-size,vptr,alignment,pointer-overflow
        -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
    # For targets with kernels. Checks for use of a variable after its scope take a quarter to a third
    # of their compile time.
    set(unchecked_scopes -fno-sanitize-address-use-after-scope)
    # A target with the property UNSANITIZED is not itself under test.
    set(sanitized $<AND:$<COMPILE_LANGUAGE:CXX>,$<NOT:$<BOOL:$<TARGET_PROPERTY:UNSANITIZED>>>>)
    target_compile_options(aperture_options INTERFACE "$<${sanitized}:${sanitizers}>")
    target_link_options(aperture_options INTERFACE ${sanitizers})
    target_compile_definitions(aperture_options INTERFACE APERTURE_SANITIZE=1)
endif()
