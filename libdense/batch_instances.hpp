// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Instantiates the batched functions of namespace aperture::dense for an executor and a scalar.

#define APERTURE_FOR_ALL_SCALARS(FUNCTION, EXECUTOR) \
    FUNCTION(EXECUTOR, float)                        \
    FUNCTION(EXECUTOR, double)                       \
    FUNCTION(EXECUTOR, std::complex<float>)          \
    FUNCTION(EXECUTOR, std::complex<double>)

// Arguments are types.
// NOLINTBEGIN(bugprone-macro-parentheses)
#define APERTURE_SOLVE(EXECUTOR, T)                                                              \
    template void solve<T>(EXECUTOR&, Factorisation, MatrixBatch<const T, EXECUTOR::Space>,      \
                           MatrixBatch<T, EXECUTOR::Space>, core::View<int, 1, EXECUTOR::Space>, \
                           core::View<Real<T>, 1, EXECUTOR::Space>);

#define APERTURE_RANK_K(EXECUTOR, T)                                                             \
    template void hermitian_rank_k<T>(EXECUTOR&, Real<T>, MatrixBatch<const T, EXECUTOR::Space>, \
                                      Real<T>, MatrixBatch<T, EXECUTOR::Space>);

#define APERTURE_CHANGE_LAYOUT(EXECUTOR, T)                                          \
    template void change_layout<T>(EXECUTOR&, MatrixBatch<const T, EXECUTOR::Space>, \
                                   MatrixBatch<T, EXECUTOR::Space>);

#define APERTURE_BLAS(EXECUTOR, T)                                                     \
    template void dot<T>(EXECUTOR&, VectorBatch<const T, EXECUTOR::Space>,             \
                         VectorBatch<const T, EXECUTOR::Space>,                        \
                         core::View<T, 1, EXECUTOR::Space>);                           \
    template void norm<T>(EXECUTOR&, VectorBatch<const T, EXECUTOR::Space>,            \
                          core::View<Real<T>, 1, EXECUTOR::Space>);                    \
    template void axpy<T>(EXECUTOR&, T, VectorBatch<const T, EXECUTOR::Space>,         \
                          VectorBatch<T, EXECUTOR::Space>);                            \
    template void gemv<T>(EXECUTOR&, Op, T, MatrixBatch<const T, EXECUTOR::Space>,     \
                          VectorBatch<const T, EXECUTOR::Space>, T,                    \
                          VectorBatch<T, EXECUTOR::Space>);                            \
    template void gemm<T>(EXECUTOR&, Op, Op, T, MatrixBatch<const T, EXECUTOR::Space>, \
                          MatrixBatch<const T, EXECUTOR::Space>, T,                    \
                          MatrixBatch<T, EXECUTOR::Space>);

#define APERTURE_LU(EXECUTOR, T)                                                                   \
    template void factor_lu<T>(EXECUTOR&, Pivoting, MatrixBatch<const T, EXECUTOR::Space>,         \
                               MatrixBatch<T, EXECUTOR::Space>,                                    \
                               core::View<int, 2, EXECUTOR::Space>,                                \
                               core::View<int, 1, EXECUTOR::Space>);                               \
    template void substitute_lu<T>(EXECUTOR&, MatrixBatch<const T, EXECUTOR::Space>,               \
                                   core::View<const int, 2, EXECUTOR::Space>,                      \
                                   MatrixBatch<T, EXECUTOR::Space>);                               \
    template void solve_lu<T>(EXECUTOR&, Pivoting, MatrixBatch<const T, EXECUTOR::Space>,          \
                              MatrixBatch<T, EXECUTOR::Space>,                                     \
                              core::View<int, 1, EXECUTOR::Space>);                                \
    template void solve_gauss_jordan<T>(EXECUTOR&, MatrixBatch<const T, EXECUTOR::Space>,          \
                                        MatrixBatch<T, EXECUTOR::Space>,                           \
                                        core::View<int, 1, EXECUTOR::Space>);                      \
    template void invert<T>(EXECUTOR&, MatrixBatch<const T, EXECUTOR::Space>,                      \
                            MatrixBatch<T, EXECUTOR::Space>, core::View<int, 1, EXECUTOR::Space>); \
    template void determinant<T>(EXECUTOR&, MatrixBatch<const T, EXECUTOR::Space>,                 \
                                 core::View<T, 1, EXECUTOR::Space>);

#define APERTURE_QR(EXECUTOR, T)                                                                  \
    template void factor_qr<T>(EXECUTOR&, MatrixBatch<const T, EXECUTOR::Space>,                  \
                               MatrixBatch<T, EXECUTOR::Space>, VectorBatch<T, EXECUTOR::Space>); \
    template void apply_q<T>(EXECUTOR&, bool, MatrixBatch<const T, EXECUTOR::Space>,              \
                             VectorBatch<const T, EXECUTOR::Space>,                               \
                             MatrixBatch<T, EXECUTOR::Space>);                                    \
    template void form_q<T>(EXECUTOR&, MatrixBatch<const T, EXECUTOR::Space>,                     \
                            VectorBatch<const T, EXECUTOR::Space>,                                \
                            MatrixBatch<T, EXECUTOR::Space>);                                     \
    template void least_squares<T>(                                                               \
        EXECUTOR&, MatrixBatch<const T, EXECUTOR::Space>, MatrixBatch<const T, EXECUTOR::Space>,  \
        MatrixBatch<T, EXECUTOR::Space>, core::View<int, 1, EXECUTOR::Space>);

#define APERTURE_SPECTRAL(EXECUTOR, T)                                                           \
    template void eigen_hermitian<T>(                                                            \
        EXECUTOR&, MatrixBatch<const T, EXECUTOR::Space>, VectorBatch<Real<T>, EXECUTOR::Space>, \
        MatrixBatch<T, EXECUTOR::Space>, core::View<int, 1, EXECUTOR::Space>);                   \
    template void svd<T>(EXECUTOR&, MatrixBatch<const T, EXECUTOR::Space>,                       \
                         MatrixBatch<T, EXECUTOR::Space>, VectorBatch<Real<T>, EXECUTOR::Space>, \
                         MatrixBatch<T, EXECUTOR::Space>, core::View<int, 1, EXECUTOR::Space>);

#define APERTURE_CHOLESKY(EXECUTOR, T)                                                     \
    template void factor_cholesky<T>(EXECUTOR&, MatrixBatch<const T, EXECUTOR::Space>,     \
                                     MatrixBatch<T, EXECUTOR::Space>,                      \
                                     core::View<int, 1, EXECUTOR::Space>);                 \
    template void substitute_cholesky<T>(EXECUTOR&, MatrixBatch<const T, EXECUTOR::Space>, \
                                         MatrixBatch<T, EXECUTOR::Space>);
// NOLINTEND(bugprone-macro-parentheses)
