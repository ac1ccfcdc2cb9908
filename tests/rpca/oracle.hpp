// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Dense>

#include "aperture/core/array.hpp"
#include "aperture/rpca/robust_pca.hpp"

/// Textbook robust PCA in fp64, by SVDs of the whole matrix.
namespace aperture::rpca::oracle {

using Matrix = Eigen::MatrixXd;

struct Split {
    Matrix low_rank;
    Matrix sparse;
    int rank = 0;
    int iterations = 0;
};

/// `iterations` iterations of inexact augmented Lagrange multipliers: S, L and Y in turn (Lin, Chen
/// & Ma 2010, algorithm 5). Returns the last L and the S that follows it.
Split ialm(const Matrix& m, double lambda, int iterations);
/// Alternating directions with fixed mu (Candes et al. 2011, algorithm 1), in the same order.
Split admm(const Matrix& m, double lambda, int iterations);

/// The transpose of m, whose rows are frames as in the library.
template <class T>
core::Array<T, 2> frames_of(const Matrix& m);
template <class T>
Matrix matrix_of(core::View<const T, 2, core::Host> frames);

/// A matrix of `values` rows and `frames` columns, the sum of two (Candes et al. 2011, section
/// 4.1): one of a given rank with normal factors of variance 1/values and 1/frames, and one of +-1
/// at a share of places.
struct Planted {
    Matrix low_rank;
    Matrix sparse;
};
Planted planted(core::index_t values, core::index_t frames, int rank, double share, unsigned seed);

/// Frames of a bright scene with changing light and a dark moving object: low rank plus sparse, up
/// to noise of one grey level.
Matrix video_like(core::index_t values, core::index_t frames);

}  // namespace aperture::rpca::oracle
