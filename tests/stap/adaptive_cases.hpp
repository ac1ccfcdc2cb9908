// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/stap/kernel_cases.hpp"

/// Problems for tests of every executor's kernels.
namespace aperture::stap::kernel_cases {

inline constexpr auto staged = Implementation::staged;
inline constexpr auto mixed = Precision::mixed;
inline constexpr auto gauss_jordan = dense::Factorisation::gauss_jordan;

inline std::vector<Case> shapes_cases() {
    return {Case{},
            Case{.channels = 1, .taps = 1, .doppler_bins = 5, .vectors = 1},
            Case{.channels = 4,
                 .doppler_bins = 6,
                 .range_cells = 50,
                 .training_block = 32,
                 .vectors = 17},
            Case{.channels = 6,
                 .doppler_bins = 9,
                 .range_cells = 129,
                 .training_block = 64,
                 .vectors = 16},
            Case{.channels = 8,
                 .doppler_bins = 5,
                 .range_cells = 70,
                 .training_block = 64,
                 .vectors = 16},
            Case{.channels = 4, .taps = 1, .doppler_bins = 6, .vectors = 5},
            Case{.channels = 16,
                 .taps = 1,
                 .doppler_bins = 3,
                 .range_cells = 83,
                 .training_block = 40,
                 .vectors = 16},
            Case{.channels = 32,
                 .taps = 1,
                 .doppler_bins = 2,
                 .range_cells = 80,
                 .training_block = 70,
                 .vectors = 2},
            Case{.channels = 3,
                 .taps = 5,
                 .doppler_bins = 5,
                 .range_cells = 70,
                 .training_block = 33,
                 .vectors = 4},
            Case{.channels = 8,
                 .taps = 5,
                 .doppler_bins = 6,
                 .range_cells = 131,
                 .training_block = 65,
                 .vectors = 9},
            Case{.channels = 5,
                 .taps = 1,
                 .doppler_bins = 20,
                 .range_cells = 19,
                 .training_block = 19,
                 .vectors = 3},
            Case{.channels = 2, .range_cells = 700, .training_block = 600, .vectors = 2}};
}

/// Matrices of neighbouring bins that share the head of their factor: 8 bins a block, two a warp.
/// Partial tiles; cells through rings if rows are aligned; remainders of bins, channels, cells and
/// vectors; and everything that prevents sharing.
inline std::vector<Case> pairs_cases() {
    const Case whole{
        .channels = 6, .doppler_bins = 16, .range_cells = 128, .training_block = 64, .vectors = 16};
    std::vector<Case> cases(14, whole);
    cases[1].channels = 8;
    cases[1].doppler_bins = 11;
    cases[1].vectors = 33;
    cases[2].channels = 7;
    cases[2].doppler_bins = 5;
    cases[2].vectors = 5;
    cases[3].loading = {0.1, true};
    cases[3].doppler_bins = 13;
    cases[4].loading = {0.1, false};
    cases[4].training_block = 48;
    cases[4].range_cells = 96;
    cases[5].channels = 8;
    cases[5].detector = Detector::amf;
    cases[5].doppler_bins = 10;
    cases[6].detector = Detector::cfar;
    cases[6].guard = 2;
    cases[6].loading = {0.1, true};
    cases[7].training = Training::sliding;
    cases[7].guard = 3;
    cases[7].training_block = 24;
    cases[7].range_cells = 40;
    cases[8].training = Training::all;
    cases[8].channels = 8;
    cases[8].guard = 2;
    cases[8].range_cells = 64;
    cases[9].training = Training::all;
    cases[9].guard = 1;
    cases[9].loading = {0.1, true};
    cases[9].range_cells = 44;
    cases[9].detector = Detector::glrt;
    cases[10].channels = 7;
    cases[10].precision = Precision::mixed;
    cases[11].channels = 7;
    cases[11].precision = Precision::mixed;
    cases[11].detector = Detector::ace;
    cases[11].loading = {0.1, true};
    cases[11].doppler_bins = 3;
    cases[12].doppler_bins = 3;
    cases[12].range_cells = 320;
    cases[12].training_block = 320;
    cases[13].channels = 7;
    cases[13].training_block = 70;
    cases[13].range_cells = 75;
    cases[13].solver = dense::Factorisation::gauss_jordan;
    return cases;
}

inline std::vector<Case> options_cases() {
    return {
        Case{.implementation = staged},
        Case{.channels = 5,
             .taps = 5,
             .range_cells = 75,
             .training_block = 37,
             .implementation = staged},
        Case{.solver = gauss_jordan},
        Case{.precision = mixed},
        Case{.implementation = staged, .precision = mixed},
        Case{.solver = gauss_jordan, .implementation = staged},
        Case{.solver = gauss_jordan, .precision = mixed},
        Case{.training_block = 4, .loading = {0.5, false}},
        Case{.training_block = 4, .loading = {0.1, true}},
        Case{.channels = 4, .training_block = 8, .loading = {0.1, true}, .implementation = staged}};
}

/// Problems of the shape that a GPU compiles at run time and the host executor contains.
inline std::vector<Case> specialised_cases() {
    std::vector<Case> cases;
    for (const Precision precision : {Precision::fp32, mixed}) {
        for (const auto solver : {dense::Factorisation::cholesky, gauss_jordan}) {
            Case c{.channels = 3,
                   .doppler_bins = 6,
                   .range_cells = 45,
                   .training_block = 24,
                   .vectors = 19,
                   .solver = solver,
                   .precision = precision};
            cases.push_back(c);
            c.detector = Detector::amf;
            cases.push_back(c);
            c.training = Training::sliding;
            c.guard = 1;
            cases.push_back(c);
        }
    }
    return cases;
}

inline std::vector<Case> windows_cases() {
    return {Case{.training = Training::sliding},
            Case{.channels = 4,
                 .range_cells = 40,
                 .training_block = 24,
                 .training = Training::sliding,
                 .guard = 3},
            Case{.training = Training::sliding,
                 .guard = 2,
                 .loading = {0.1, true},
                 .implementation = staged},
            Case{.training = Training::sliding, .guard = 1, .precision = mixed},
            Case{.training = Training::all},
            Case{.training = Training::all, .guard = 4},
            Case{.channels = 4,
                 .range_cells = 150,
                 .training = Training::all,
                 .guard = 2,
                 .loading = {0.1, true}},
            Case{.training = Training::all,
                 .guard = 1,
                 .loading = {0.3, false},
                 .implementation = staged},
            Case{.training = Training::all, .guard = 1, .precision = mixed}};
}

inline std::vector<Case> detectors_cases() {
    return {Case{.detector = Detector::amf},
            Case{.detector = Detector::ace},
            Case{.detector = Detector::glrt},
            Case{.detector = Detector::cfar},
            Case{.guard = 2, .detector = Detector::cfar},
            Case{.channels = 4,
                 .range_cells = 70,
                 .training_block = 32,
                 .vectors = 6,
                 .detector = Detector::glrt},
            Case{.channels = 6,
                 .range_cells = 150,
                 .training_block = 64,
                 .vectors = 16,
                 .detector = Detector::amf},
            Case{.channels = 2,
                 .range_cells = 700,
                 .training_block = 600,
                 .vectors = 2,
                 .detector = Detector::ace},
            Case{.detector = Detector::amf, .solver = gauss_jordan},
            Case{.detector = Detector::ace, .precision = mixed},
            Case{.detector = Detector::ace, .implementation = staged},
            Case{.training = Training::sliding, .guard = 1, .detector = Detector::amf},
            Case{.training = Training::all, .guard = 2, .detector = Detector::glrt},
            Case{.training = Training::all, .detector = Detector::ace, .implementation = staged}};
}

}  // namespace aperture::stap::kernel_cases
