# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
# Libraries from the system; nothing is downloaded.

find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(PkgConfig REQUIRED)
pkg_check_modules(FFTW3F REQUIRED IMPORTED_TARGET fftw3f)
pkg_check_modules(FFTW3 REQUIRED IMPORTED_TARGET fftw3)
find_package(HDF5 REQUIRED COMPONENTS C HL)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(Boost 1.74 REQUIRED)
find_package(Eigen3 REQUIRED)
if(APERTURE_OPENCV)
    find_package(OpenCV REQUIRED COMPONENTS core imgproc imgcodecs videoio)
    find_package(PNG REQUIRED)
endif()
if(APERTURE_TESTS)
    find_package(GTest REQUIRED)
    find_package(Boost 1.74 REQUIRED COMPONENTS context)
endif()
if(APERTURE_BENCH)
    find_package(benchmark REQUIRED)
    # If installed, a reference for factorisations.
    find_package(LAPACK QUIET)
endif()
