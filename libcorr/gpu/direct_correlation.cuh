// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The direct method on a device: stages planes, computes partial sums, and adds them. Host code, a
// template on the executor.

#include "aperture/corr/correlator.hpp"
#include "libcorr/gpu/direct.cuh"
#include "libcorr/gpu/direct_tensor.cuh"
#include "libcorr/gpu/tile_partition.hpp"

namespace aperture::corr::gpu {

/// One way to compute sums of products; holds its workspace.
template <class Executor>
class DirectSums {
  public:
    virtual ~DirectSums() = default;
    /// Correlates one image; `sums` in Correlator's layout. Asynchronous.
    virtual void run(const GroundedPlanes& a, const GroundedPlanes& b, double* sums) = 0;
};

/// By a kernel whose warps move along rows as `Walk` says.
template <class Executor, class Walk>
class DirectSumsBy final : public DirectSums<Executor> {
    using Form = typename Walk::Form;
    using Cell = typename Form::Cell;
    using Number = typename Form::Number;
    using Tile = typename Walk::Tile;
    using Space = typename Executor::Space;

  public:
    using Kernel = void (*)(SumTask<Cell>, const PlaneGround*, const PlaneGround*, Number*);

    DirectSumsBy(Executor& executor, const Problem& problem, Kernel kernel)
        : executor_(executor), problem_(problem), kernel_(kernel) {
        const Shape tile{Tile::rows, Tile::columns};
        const int planes = planes_of_launch();
        const index_t max_chain_rows = problem.image.rows / rows_of_chains;
        const int columns = max_chain_rows == 0 ? Walk::step : Walk::max_columns;
        chain_rows_ = static_cast<int>(
            std::max<index_t>(1, std::min<index_t>(products_in_chain / columns, max_chain_rows)));
        const TilePartition partition = partition_tiles<Walk>(
            problem.image, problem.lags,
            std::max(1, executor.multiprocessors() * warps_a_multiprocessor / planes), columns);
        warps_ = static_cast<unsigned>(partition.warps());
        parts_ = upload<PartOfTile>(partition.parts);
        first_parts_ = upload<int>(partition.first_parts);
        tiles_ = upload<TileParts>(partition.tiles);
        const Shape extent = problem.lags.extent();
        surfaces_ = {tiles_.data(),
                     partition.tiles_across,
                     partition.skipped_columns,
                     static_cast<int>(partition.parts.size()),
                     problem.each_plane ? 1 : planes,
                     static_cast<int>(extent.rows),
                     static_cast<int>(extent.columns)};
        sums_ = core::Array<Number, 1, Space>({parts_.size() * planes * tile.rows * tile.columns});
        const auto image_columns = static_cast<int>(problem.image.columns);
        // A piece may begin up to a step before the first column with a partner.
        left_ = (Tile::columns + Walk::step + Walk::columns_behind + 3) / 4 * 4;
        pitch_ = (left_ + image_columns + Tile::columns + Walk::max_columns + columns_beyond + 3) /
                 4 * 4;
        staged_a_ = core::Array<Cell, 1, Space>({staged_cells()});
    }

    void run(const GroundedPlanes& a, const GroundedPlanes& b, double* sums) override {
        const bool same = a.same_as(b);
        stage(a, staged_a_);
        if (!same) {
            staged_b_.reshape({staged_cells()});
            stage(b, staged_b_);
        }
        const SumTask<Cell> task{staged<const Cell>(staged_a_.data()),
                                 staged<const Cell>(same ? staged_a_.data() : staged_b_.data()),
                                 parts_.data(), first_parts_.data(), chain_rows_};
        core::launch(executor_, kernel_,
                     core::LaunchConfig(dim3(static_cast<unsigned>(planes_of_launch()), warps_),
                                        dim3(core::warp_size), RowRing<Walk>::bytes)
                         .early(),
                     task, a.grounds, b.grounds, sums_.data());
        constexpr unsigned threads = entries_of_block * adders_of_entry;
        core::launch(executor_, &add_parts_kernel<Tile, Number>,
                     core::LaunchConfig(
                         dim3(signal::gpu::tiles_over(surfaces_.lag_rows * surfaces_.lag_columns,
                                                      entries_of_block),
                              static_cast<unsigned>(problem_.surfaces())),
                         dim3(threads), threads * sizeof(double))
                         .early(),
                     surfaces_, static_cast<const Number*>(sums_.data()), sums);
    }

  private:
    /// Limited by registers.
    static constexpr int warps_a_multiprocessor = 8;
    static constexpr int products_in_chain = 512;
    /// Rounding errors average out over the chains, each of at most a 64th of the rows.
    static constexpr index_t rows_of_chains = 64;

    int planes_of_launch() const {
        return Form::planes(static_cast<int>(problem_.planes)) / Walk::planes;
    }
    index_t staged_cells() const {
        return Form::planes(static_cast<int>(problem_.planes)) * (problem_.image.rows + 1) * pitch_;
    }
    template <class T>
    StagedPlanes<T> staged(T* data) const {
        return {
            data,  (problem_.image.rows + 1) * pitch_,    pitch_,
            left_, static_cast<int>(problem_.image.rows), static_cast<int>(problem_.image.columns)};
    }
    void stage(const GroundedPlanes& image, core::Array<Cell, 1, Space>& to) {
        const int planes = Form::planes(static_cast<int>(problem_.planes));
        core::launch(executor_, &stage_kernel<Form>,
                     core::LaunchConfig(dim3(static_cast<unsigned>(problem_.image.rows + 1),
                                             static_cast<unsigned>(planes)),
                                        dim3(stage_threads))
                         .early(),
                     image.planes, image.grounds, staged(to.data()));
    }
    template <class T>
    core::Array<T, 1, Space> upload(const std::vector<T>& values) {
        core::Array<T, 1, Space> copied({std::ssize(values)});
        core::copy(executor_,
                   core::View<const T, 1, core::Host>(values.data(), {std::ssize(values)}),
                   copied.view());
        executor_.synchronize();
        return copied;
    }

    Executor& executor_;
    Problem problem_;
    Kernel kernel_;
    int left_ = 0;  ///< cells before the first column
    int pitch_ = 0;
    core::Array<Cell, 1, Space> staged_a_;
    core::Array<Cell, 1, Space> staged_b_;  ///< if B is not A; allocated by the first such run
    int chain_rows_ = 0;
    unsigned warps_ = 0;
    core::Array<PartOfTile, 1, Space> parts_;
    core::Array<int, 1, Space> first_parts_;
    core::Array<TileParts, 1, Space> tiles_;
    PartialSurfaces surfaces_{};
    core::Array<Number, 1, Space> sums_;
};

/// The fastest kernel of each precision. Of 70.5 GFLOP, threads of 4 x 16 displacements in tiles of
/// 32 x 64 take 1.59 ms on an H200, those of 8 x 8 in tiles of 64 x 32 1.67, and tiles of 16 x 128
/// 1.84; doubles leave too few registers for 4 x 16. On the tensor cores 16 x 128 take 1.09 ms, 16
/// x 64 1.37 (docs/notes/correlation.md; bench/corr_tiles.cuh).
template <class Executor>
std::unique_ptr<DirectSums<Executor>> make_direct_sums(Executor& executor, const Problem& problem) {
    using Tensor = TensorWalk<TensorTile<2>>;
    using Doubles = DirectWalk<DirectTile<8>, double>;
    using Floats = DirectWalk<DirectTile<4, 4, 16>, float>;
    switch (problem.precision) {
        case Precision::tf32x3:
            return std::make_unique<DirectSumsBy<Executor, Tensor>>(executor, problem,
                                                                    &tensor_kernel<Tensor>);
        case Precision::fp64:
            return std::make_unique<DirectSumsBy<Executor, Doubles>>(executor, problem,
                                                                     &direct_kernel<Doubles>);
        case Precision::fp32:
            break;
    }
    return std::make_unique<DirectSumsBy<Executor, Floats>>(executor, problem,
                                                            &direct_kernel<Floats>);
}

}  // namespace aperture::corr::gpu
