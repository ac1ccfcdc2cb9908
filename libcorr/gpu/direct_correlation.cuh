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
template <class Tile_, class Form_>
struct RegisterKernel {
    using Tile = Tile_;
    using Form = Form_;
    using Walk = DirectWalk<Tile, Form>;

    template <class Executor>
    static void start(Executor& executor, const core::LaunchConfig& config,
                      const SumTask<typename Form::Cell>& task, int planes,
                      const PlaneGround* grounds_a, const PlaneGround* grounds_b,
                      typename Form::Number* sums) {
        core::launch(executor, &direct_kernel<Tile, Form>, config, task, planes, grounds_a,
                     grounds_b, sums);
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
                      const SumTask<float>& task, int, const PlaneGround*, const PlaneGround*,
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
        const index_t chain_rows = products_in_chain / (Form::planes_of_cell * columns);
        chain_rows_ = static_cast<int>(std::max<index_t>(1, std::min(chain_rows, most_chain_rows)));
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
                      task, static_cast<int>(problem_.planes), a.grounds, b.grounds, sums_.data());
        const auto surfaces =
            static_cast<unsigned>(problem_.each_plane ? problem_.planes : index_t{1});
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
        return (static_cast<int>(problem_.planes) + Form::planes_of_cell - 1) /
               Form::planes_of_cell;
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

/// The requested tile of those that exist for a form, or the first. Throws core::InvalidArgument if
/// there is no such tile.
template <class Executor, class... Kernels>
std::unique_ptr<DirectSums<Executor>> make_direct_sums_of(Executor& executor,
                                                          const Problem& problem) {
    std::unique_ptr<DirectSums<Executor>> made;
    std::string names;
    const auto consider = [&]<class Kernel>() {
        const Shape tile{Kernel::Tile::rows, Kernel::Tile::columns};
        names += core::text(names.empty() ? "" : ", ", tile.rows, 'x', tile.columns);
        if (!made && problem.direct.tile.value_or(tile) == tile) {
            made = std::make_unique<DirectSumsBy<Executor, Kernel>>(executor, problem);
        }
    };
    (consider.template operator()<Kernels>(), ...);
    if (!made) {
        const Shape asked = *problem.direct.tile;
        throw core::InvalidArgument(core::text("a tile of ", asked.rows, 'x', asked.columns,
                                               " displacements, expected one of ", names));
    }
    return made;
}

/// With floats, threads of 4 rows load less of B. Doubles leave too few registers for that, and a
/// cell of four planes already replaces more columns.
template <class Form, class OfFloats, class OfOthers>
using KernelOfForm = RegisterKernel<
    std::conditional_t<std::is_same_v<typename Form::Cell, float>, OfFloats, OfOthers>, Form>;
template <class Form>
using Tile32x64 = KernelOfForm<Form, DirectTile<4, 4, 16>, DirectTile<8>>;
template <class Form>
using Tile16x128 = KernelOfForm<Form, DirectTile<8, 4, 16>, DirectTile<16>>;
template <class Form>
using Tile64x32 = RegisterKernel<DirectTile<4>, Form>;

template <class Executor>
std::unique_ptr<DirectSums<Executor>> make_direct_sums(Executor& executor, const Problem& problem) {
    const auto of_form = [&]<class Form>() {
        return make_direct_sums_of<Executor, Tile32x64<Form>, Tile16x128<Form>, Tile64x32<Form>>(
            executor, problem);
    };
    switch (problem.direct.precision) {
        case Precision::tf32x3:
            return make_direct_sums_of<Executor, TensorKernel<TensorTile<2>>,
                                       TensorKernel<TensorTile<1>>>(executor, problem);
        case Precision::fp64:
            return of_form.template operator()<SeparateForm<double>>();
        case Precision::fp32:
            break;
    }
    if (problem.direct.layout == PlaneLayout::separate) {
        return of_form.template operator()<SeparateForm<float>>();
    }
    return make_direct_sums_of<Executor, Tile64x32<PackedForm>, Tile32x64<PackedForm>,
                               Tile16x128<PackedForm>>(executor, problem);
}

}  // namespace aperture::corr::gpu
