// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The batched functions on a Gpu, instantiated in one source file per scalar type: the kernels take
// long to compile.

#include "libdense/batch_instances.hpp"
#include "libdense/gpu/change_layout.cuh"
#include "libdense/gpu/hermitian_rank_k.cuh"
#include "libdense/gpu/solve.cuh"

namespace aperture::dense {

template <Scalar T, class Layout>
void hermitian_rank_k(core::Gpu& gpu, Real<T> alpha, MatrixBatch<const T, core::Device, Layout> a,
                      Real<T> beta, MatrixBatch<T, core::Device, Layout> c) {
    launch_hermitian_rank_k(gpu, alpha, a, beta, c);
}

template <Scalar T, class Layout>
void solve(core::Gpu& gpu, Factorisation factorisation,
           MatrixBatch<const T, core::Device, Layout> a, MatrixBatch<T, core::Device, Layout> x,
           core::View<int, 1, core::Device> info,
           core::View<Real<T>, 1, core::Device> pivot_ratio) {
    launch_solve(gpu, factorisation, a, x, info, pivot_ratio);
}

template <Scalar T, class From, class To>
void change_layout(core::Gpu& gpu, MatrixBatch<const T, core::Device, From> from,
                   MatrixBatch<T, core::Device, To> to) {
    launch_change_layout(gpu, from, to);
}

}  // namespace aperture::dense

#define APERTURE_BATCH(T)                \
    namespace aperture::dense {          \
    APERTURE_RANK_K(core::Gpu, T)        \
    APERTURE_SOLVE(core::Gpu, T)         \
    APERTURE_CHANGE_LAYOUT(core::Gpu, T) \
    }
