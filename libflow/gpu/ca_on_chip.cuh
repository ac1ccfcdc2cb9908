// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Communication-avoiding CG with its basis on chip: a whole solution in one cooperative kernel,
// with two grid barriers in s iterations. A block stores the basis on its tile of the image and
// recomputes what s steps need beyond the tile (Mohiyuddin et al. 2009, matrix powers with
// redundant work). This is enough for x one pixel beyond the tile, so that the true residual needs
// no exchange of its own.

#include "libcore/gpu/grid.cuh"
#include "libflow/gpu/ca_gram.cuh"

namespace aperture::flow::gpu {

/// Rounds of s iterations (Carson 2015, algorithm 7) until convergence. Block: a tile of the
/// layout. Thread: pixels of the tile and its borders, on_chip_threads apart. Grid: the tiles, row
/// by row; all resident at once, one a multiprocessor. Shared memory: OnChipMemory, then the basis,
/// layout.pairs times 8 bytes. Bytes from the L2 cache for each pixel and round: 12 s for the
/// steps, times the borders' share, 84 for the rest of the round, and borders of p and z. Flops: 40
/// (2 s - 1) for the steps, 2 (2 s + 1) (s + 1) + 4 (2 s + 1) for the Gram matrix, 12 (2 s + 1) for
/// the combination, 40 for the residual.
template <Coupling coupling, Boundary boundary, int most>
__global__ void __launch_bounds__(on_chip_threads, 1)
    ca_on_chip_kernel(const __grid_constant__ OnChipArguments<most> a) {
    OnChipMemory<most>* const memory = core::shared<OnChipMemory<most>>();
    const CaTile<coupling, boundary, most> tile(a, memory);
    const TileGram gram(tile);
    tile.clear();
    tile.store_state(evaluate_round(a.ca));
    while (memory->state.stopped == 0) {
        tile.load_first_vectors();
        tile.build_basis();
        gram.store();
        core::grid_sync();
        gram.iterate();
        tile.combine();
        tile.store_residual();
        core::grid_sync();
        tile.evaluate_residual();
    }
    tile.finish();
}

/// Calls function(std::integral_constant<int, most>) for the kernel of up to `most` >= `steps`
/// steps, if there is one.
template <class Function>
void with_most_steps(int steps, const Function& function) {
    if (steps <= 4) {
        function(std::integral_constant<int, 4>{});
    } else if (steps <= 8) {
        function(std::integral_constant<int, 8>{});
    }
}

template <int most>
BasisLayout<most> basis_layout(int steps, int tile_rows, int tile_columns) {
    BasisLayout<most> layout{};
    layout.halo = steps;
    layout.rows = tile_rows;
    layout.columns = tile_columns;
    const auto add = [&](int vector, int border) {
        layout.pitch[vector] = tile_columns + 2 * border;
        layout.origin[vector] = layout.pairs + border * layout.pitch[vector] + border;
        layout.pairs += (tile_rows + 2 * border) * layout.pitch[vector];
    };
    for (int k = 0; k <= steps; ++k) add(k, std::max(steps - k, 1));
    for (int k = 0; k < steps; ++k) add(layout.first_scaled + k, std::max(steps - 1 - k, 1));
    for (int k = 0; k < layout.vectors; ++k) {
        if (layout.pitch[k] > 0) continue;
        layout.origin[k] = layout.origin[0];
        layout.pitch[k] = layout.pitch[0];
    }
    return layout;
}

template <int most>
std::size_t on_chip_shared(const BasisLayout<most>& layout) {
    return sizeof(OnChipMemory<most>) + sizeof(Pair) * static_cast<std::size_t>(layout.pairs);
}

/// Size of the tiles, one for each block; zero if the image does not fit.
struct OnChipPlan {
    int tile_rows = 0;
    int tile_columns = 0;

    bool fits() const { return tile_rows > 0; }
    index_t tiles(Shape shape) const {
        return (shape.rows + tile_rows - 1) / tile_rows *
               ((shape.columns + tile_columns - 1) / tile_columns);
    }
};

/// The tiling for `steps` steps with the fewest passes of a block's threads over its vectors, and
/// no more tiles than multiprocessors; among equals, the fewest tiles.
inline OnChipPlan plan_on_chip(Shape shape, int steps, int multiprocessors,
                               std::size_t shared_bytes) {
    OnChipPlan best;
    index_t least = 0;
    with_most_steps(steps, [&](auto most) {
        for (int down = 1; down <= std::min<index_t>(multiprocessors, shape.rows); ++down) {
            const auto tile_rows = static_cast<int>((shape.rows + down - 1) / down);
            const index_t most_across = std::min<index_t>(multiprocessors / down, shape.columns);
            for (index_t across = 1; across <= most_across; ++across) {
                const auto tile_columns = static_cast<int>((shape.columns + across - 1) / across);
                const auto layout =
                    basis_layout<decltype(most)::value>(steps, tile_rows, tile_columns);
                if (on_chip_shared(layout) > shared_bytes) continue;
                index_t passes = 0;
                for (int vector = 0; vector < layout.vectors; ++vector) {
                    const index_t width = layout.pitch[vector];
                    const index_t height = width - tile_columns + tile_rows;
                    passes += (width * height + on_chip_threads - 1) / on_chip_threads;
                }
                const OnChipPlan plan{tile_rows, tile_columns};
                const index_t cost = passes * multiprocessors + plan.tiles(shape);
                if (best.fits() && cost >= least) continue;
                least = cost;
                best = plan;
            }
        }
    });
    return best;
}

/// Solves what CommunicationAvoidingCg::start has prepared. The basis in memory needs two vectors
/// only: p and z where tiles meet. `residuals` has an entry for each tile.
template <class Executor>
void solve_on_chip(Executor& executor, Coupling coupling_of_pixels, Boundary beyond,
                   const CaArguments& ca, const OnChipPlan& plan, Sums<3>* residuals) {
    with_stencil(coupling_of_pixels, beyond, [&](auto coupling, auto boundary) {
        with_most_steps(ca.steps, [&](auto most) {
            constexpr int up_to = decltype(most)::value;
            const OnChipArguments<up_to> arguments{
                ca, basis_layout<up_to>(ca.steps, plan.tile_rows, plan.tile_columns), residuals};
            const Shape shape{rows_of(ca.solution[0]), columns_of(ca.solution[0])};
            core::launch_cooperative(
                executor,
                &ca_on_chip_kernel<decltype(coupling)::value, decltype(boundary)::value, up_to>,
                core::LaunchConfig(dim3(static_cast<unsigned>(plan.tiles(shape))),
                                   dim3(on_chip_threads), on_chip_shared(arguments.layout)),
                arguments);
        });
    });
}

#if defined(__CUDACC__)
extern template void solve_on_chip(core::Gpu&, Coupling, Boundary, const CaArguments&,
                                   const OnChipPlan&, Sums<3>*);
#endif

}  // namespace aperture::flow::gpu
