// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cublas_v2.h>

#include <memory>

#include "aperture/stap/pipeline.hpp"

namespace aperture::stap::gpu {

/// Block training by batched library calls on materialised snapshots, the baseline of Anderson
/// 2014, ch. 4: cublasCgemmBatched for covariances, weights and outputs, the inverse by LU with
/// partial pivoting. fp32 only. `info` i >= 1: entry i of U's diagonal is zero or not finite.
/// `pivot_ratio` is the ratio of U's diagonal entries.
class CublasBaseline {
  public:
    /// The problem must outlive it; its loading may change between runs. Throws
    /// core::InvalidArgument for sliding or all training and for mixed precision.
    CublasBaseline(core::Gpu& gpu, const Problem& problem,
                   core::View<const cfloat, 2, core::Host> steering);

    /// Asynchronous, except with another output than in the run before.
    void run(CubeView<core::Device> cube, const Results<core::Device>& results,
             core::Timeline* timeline);

  private:
    struct DestroyCublas {
        void operator()(cublasContext* handle) const;
    };

    void set_pointers(const core::View<cfloat, 3, core::Device>& output);
    void apply_weights(const core::View<cfloat, 3, core::Device>& output);
    void multiply(cublasOperation_t of_a, int m, int n, int k, float scale, cuComplex** a,
                  int a_stride, cuComplex** b, int b_stride, cuComplex** c, int c_stride,
                  index_t count);

    core::Gpu& gpu_;
    std::unique_ptr<cublasContext, DestroyCublas> cublas_;
    const Problem& problem_;
    index_t matrices_;
    core::Array<cfloat, 2, core::Device> steering_;          ///< [n][D]
    core::Array<cfloat, 2, core::Device> right_hand_sides_;  ///< conjugates [D][n]
    core::Array<cfloat, 4, core::Device> snapshots_;         ///< [k][b][n][N_R]
    core::Array<cfloat, 4, core::Device> covariance_;        ///< overwritten by its LU
    core::Array<cfloat, 4, core::Device> inverse_;
    core::Array<cfloat, 4, core::Device> weights_;  ///< conjugates, then scaled by gamma
    core::Array<int, 2, core::Device> pivots_;
    core::Array<int, 2, core::Device> info_;
    core::Array<cfloat*, 1, core::Device> snapshot_pointers_;
    core::Array<cfloat*, 1, core::Device> last_snapshot_pointers_;
    core::Array<cfloat*, 1, core::Device> covariance_pointers_;
    core::Array<cfloat*, 1, core::Device> inverse_pointers_;
    core::Array<cfloat*, 1, core::Device> right_hand_side_pointers_;
    core::Array<cfloat*, 1, core::Device> weight_pointers_;
    core::Array<cfloat*, 1, core::Device> output_pointers_;
    core::View<cfloat, 3, core::Device> output_;  ///< the output that `output_pointers_` point to
};

}  // namespace aperture::stap::gpu
