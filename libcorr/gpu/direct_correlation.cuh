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

/// An image for a launch: its planes, and their grounds.
struct GroundedImage {
    Planes<const float> planes;
    const PlaneGround* grounds;
};

/// One way to compute sums of products; holds its workspace.
template <class Executor>
class DirectSums {
  public:
    virtual ~DirectSums() = default;
    /// Correlates one image; `sums` in Correlator's layout. `same`: a is b. Asynchronous.
    virtual void run(const GroundedImage& a, const GroundedImage& b, bool same, double* sums) = 0;
};

/// Products in registers: direct_kernel.
template <class Tile_, class T>
struct RegisterKernel {
    using Tile = Tile_;
    using Form = SeparateForm<T>;
    using Walk = DirectWalk<Tile, T>;

    template <class Executor>
    static void start(Executor& executor, const core::LaunchConfig& config, const SumTask<T>& task,
                      const PlaneGround* grounds_a, const PlaneGround* grounds_b, T* sums) {
        core::launch(executor, &direct_kernel<Tile, T>, config, task, grounds_a, grounds_b, sums);
    }
};

/// Products on the tensor cores: tensor_kernel.
template <class Tile_>
struct TensorKernel {
    using Tile = Tile_;
    using Form = SplitForm;
    using Walk = TensorWalk<Tile>;

    template <class Executor>
    static void start(Executor& executor, const core::LaunchConfig& config,
                      const SumTask<float>& task, const PlaneGround*, const PlaneGround*,
                      float* sums) {
        core::launch(executor, &tensor_kernel<Tile>, config, task, sums);
    }
};

template <class Executor, class Kernel>
class DirectSumsBy final : public DirectSums<Executor> {
    using Form = typename Kernel::Form;
    using Cell = typename Form::Cell;
    using Number = typename Form::Number;
    using Tile = typename Kernel::Tile;
    using Walk = typename Kernel::Walk;
    using Ring = RowRing<Walk>;
    using Space = typename Executor::Space;

  public:
    DirectSumsBy(Executor& executor, const Problem& problem)
        : executor_(executor), problem_(problem) {
        const Shape tile{Tile::rows, Tile::columns};
        const int planes = planes_of_launch();
        const index_t most_chain_rows = problem.image.rows / rows_of_chains;
        const int columns = most_chain_rows == 0 ? Walk::step : Walk::most_columns;
        chain_rows_ = static_cast<int>(
            std::max<index_t>(1, std::min<index_t>(products_in_chain / columns, most_chain_rows)));
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
        pitch_ = (left_ + image_columns + Tile::columns + Walk::most_columns + columns_beyond + 3) /
                 4 * 4;
        staged_a_ = core::Array<Cell, 1, Space>({staged_cells()});
    }

    void run(const GroundedImage& a, const GroundedImage& b, bool same, double* sums) override {
        stage_image(a, staged_a_);
        if (!same) {
            staged_b_.reshape({staged_cells()});
            stage_image(b, staged_b_);
        }
        const SumTask<Cell> task{staged<const Cell>(staged_a_.data()),
                                 staged<const Cell>(same ? staged_a_.data() : staged_b_.data()),
                                 parts_.data(), first_parts_.data(), chain_rows_};
        Kernel::start(executor_,
                      core::LaunchConfig(dim3(static_cast<unsigned>(planes_of_launch()), warps_),
                                         dim3(core::warp_size), Ring::bytes)
                          .early(),
                      task, a.grounds, b.grounds, sums_.data());
        const auto surfaces = static_cast<unsigned>(problem_.surfaces());
        constexpr unsigned threads = entries_of_block * adders_of_entry;
        core::launch(executor_, &add_parts_kernel<Tile, Number, entries_of_block, adders_of_entry>,
                     core::LaunchConfig(
                         dim3(signal::gpu::tiles_over(surfaces_.lag_rows * surfaces_.lag_columns,
                                                      entries_of_block),
                              surfaces),
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
    void stage_image(const GroundedImage& image, core::Array<Cell, 1, Space>& to) {
        stage<Form>(executor_, image.planes, static_cast<int>(problem_.planes), image.grounds,
                    staged<Cell>(to.data()));
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
    const auto by = [&]<class Kernel>() -> std::unique_ptr<DirectSums<Executor>> {
        return std::make_unique<DirectSumsBy<Executor, Kernel>>(executor, problem);
    };
    switch (problem.precision) {
        case Precision::tf32x3:
            return by.template operator()<TensorKernel<TensorTile<2>>>();
        case Precision::fp64:
            return by.template operator()<RegisterKernel<DirectTile<8>, double>>();
        case Precision::fp32:
            break;
    }
    return by.template operator()<RegisterKernel<DirectTile<4, 4, 16>, float>>();
}

}  // namespace aperture::corr::gpu
