// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Instantiates the batched functions of namespace aperture::dense for an executor and a scalar.

#define APERTURE_IN_BOTH_LAYOUTS(FUNCTION, EXECUTOR, T) \
    FUNCTION(EXECUTOR, T, core::Concatenated)           \
    FUNCTION(EXECUTOR, T, core::Interleaved)
#define APERTURE_FOR_ALL_SCALARS(FUNCTION, EXECUTOR) \
    FUNCTION(EXECUTOR, float)                        \
    FUNCTION(EXECUTOR, double)                       \
    FUNCTION(EXECUTOR, std::complex<float>)          \
    FUNCTION(EXECUTOR, std::complex<double>)

#define APERTURE_SOLVE_IN_LAYOUT(EXECUTOR, T, LAYOUT)                                 \
    template void solve<T, LAYOUT>(                                                   \
        EXECUTOR&, Factorisation, MatrixBatch<const T, EXECUTOR::Space, LAYOUT>,      \
        MatrixBatch<T, EXECUTOR::Space, LAYOUT>, core::View<int, 1, EXECUTOR::Space>, \
        core::View<Real<T>, 1, EXECUTOR::Space>);
#define APERTURE_SOLVE(EXECUTOR, T) APERTURE_IN_BOTH_LAYOUTS(APERTURE_SOLVE_IN_LAYOUT, EXECUTOR, T)

#define APERTURE_RANK_K_IN_LAYOUT(EXECUTOR, T, LAYOUT)                                       \
    template void hermitian_rank_k<T, LAYOUT>(EXECUTOR&, Real<T>,                            \
                                              MatrixBatch<const T, EXECUTOR::Space, LAYOUT>, \
                                              Real<T>, MatrixBatch<T, EXECUTOR::Space, LAYOUT>);
#define APERTURE_RANK_K(EXECUTOR, T) \
    APERTURE_IN_BOTH_LAYOUTS(APERTURE_RANK_K_IN_LAYOUT, EXECUTOR, T)

#define APERTURE_CHANGE_LAYOUT_TO(EXECUTOR, T, FROM, TO)                                  \
    template void change_layout<T, FROM, TO>(EXECUTOR&,                                   \
                                             MatrixBatch<const T, EXECUTOR::Space, FROM>, \
                                             MatrixBatch<T, EXECUTOR::Space, TO>);
#define APERTURE_CHANGE_LAYOUT(EXECUTOR, T)                                       \
    APERTURE_CHANGE_LAYOUT_TO(EXECUTOR, T, core::Concatenated, core::Interleaved) \
    APERTURE_CHANGE_LAYOUT_TO(EXECUTOR, T, core::Interleaved, core::Concatenated)
