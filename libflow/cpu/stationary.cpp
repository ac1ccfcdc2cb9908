// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libflow/cpu/stationary.hpp"

#include <array>
#include <atomic>
#include <utility>

#include "libcore/cpu/worker_tasks.hpp"
#include "libflow/cpu/row_loops.hpp"
#include "libflow/cpu/stationary_updates.hpp"

namespace aperture::flow {
namespace {

using core::load;
using core::Pack;
using core::store;

// Several steps run over the image at a time. A step can process a row once the previous step is a
// row further. So a front moves down the image, with the steps behind it a row apart, and its
// working set stays in the L2 cache. Steps are grouped. A group processes a block of fronts one
// tile of columns at a time, and that working set stays in the L1 cache. Rows are processed in
// pairs: shared rows are loaded once, and half as many loops start and end.

/// Steps for each pass over the image. More steps wait less for memory and repeat more rows where
/// two bands meet.
constexpr int steps_at_once = 16;
/// Steps of a group: the L1 cache holds the coefficients of as many rows of a tile.
constexpr int group_steps = 2;
constexpr index_t tile_columns = 304;
/// Rows of a group's result kept for the next group, and fronts of a block.
constexpr index_t kept_rows = 16;
constexpr index_t block_fronts = kept_rows - 2;
static_assert(block_fronts % 2 == 0 && (kept_rows & (kept_rows - 1)) == 0);
static_assert(group_steps <= core::lanes<float> && core::lanes<float> <= row_margin);

/// Columns [first, last); `first` is the start of a pack.
struct Columns {
    index_t first;
    index_t last;
};

/// A step's work in a tile.
struct TileStep {
    RowRing from;
    RowRing to;
    Columns columns;
    index_t begin;  ///< rows [begin, end)
    index_t end;
};

/// A tile's number from the left, and the columns of its results.
struct Tile {
    index_t number;
    Columns columns;
};

/// The rows between the steps of a band: of a group's last step the rows that the next group needs,
/// of its other steps four rows of every tile and of one pack on either side.
class StepRows {
  public:
    static std::size_t bytes(index_t columns) {
        return sizeof(float) *
               static_cast<std::size_t>(results * kept_rows * PairedRows::pitch(columns) +
                                        tiles(columns) * steps_at_once * inner_rows * inner_pitch);
    }
    StepRows(std::byte* memory, index_t columns)
        : results_(reinterpret_cast<float*>(memory)),
          pitch_(PairedRows::pitch(columns)),
          inner_(results_ + results * kept_rows * pitch_) {}

    static index_t tiles(index_t columns) { return (columns + tile_columns - 1) / tile_columns; }

    /// The rows after `step` steps in a tile.
    RowRing after(int step, const Tile& tile) const {
        constexpr index_t lanes = core::lanes<float>;
        if (step % group_steps == 0) {
            const int group = step / group_steps - 1;
            return {results_ + group * kept_rows * pitch_ + 2 * lanes, pitch_, kept_rows - 1};
        }
        const index_t rows = (tile.number * steps_at_once + step) * inner_rows;
        return {inner_ + rows * inner_pitch + 4 * lanes - 2 * tile.columns.first, inner_pitch,
                inner_rows - 1};
    }

  private:
    static constexpr int results = steps_at_once / group_steps - 1;
    static constexpr index_t inner_rows = 4;
    static constexpr index_t inner_pitch = 2 * (tile_columns + 4 * core::lanes<float>);

    float* results_;
    index_t pitch_;
    float* inner_;
};

constexpr std::make_integer_sequence<int, core::lanes<float>> all_lanes{};

/// Lanes `first` and following of `a` with `b` appended.
template <int first, int... lane>
Pack<float> lanes_of(Pack<float> a, Pack<float> b, std::integer_sequence<int, lane...>) {
    return __builtin_shufflevector(a, b, (first + lane)...);
}
/// The pixels to the left and to the right of a pack, from packs: a load one pixel aside would
/// touch two cache lines.
Pack<float> left_of(Pack<float> before, Pack<float> here) {
    return lanes_of<core::lanes<float> - 1>(before, here, all_lanes);
}
Pack<float> right_of(Pack<float> here, Pack<float> behind) {
    return lanes_of<1>(here, behind, all_lanes);
}

template <class Update, Coupling coupling>
class Band {
  public:
    Band(const PreparedSystem& system, const Coefficients& coefficients, RowRing from, RowRing to,
         const float* zeros, std::byte* scratch)
        : system_(system),
          coefficients_(coefficients),
          from_(from),
          to_(to),
          zeros_(zeros),
          between_(scratch, system.shape.columns) {}

    /// Computes rows [first, last) after `steps` steps.
    void sweep(index_t first, index_t last, int steps) {
        const index_t columns = system_.shape.columns;
        const index_t packs = whole_packs(columns) / core::lanes<float>;
        const index_t tiles = StepRows::tiles(columns);
        const auto border = [&](index_t tile) {
            return std::min(columns, packs * tile / tiles * core::lanes<float>);
        };
        const index_t end = last + steps - 1;
        for (index_t front = std::max<index_t>(first - steps + 1, 0); front < end;
             front += block_fronts) {
            const index_t next = std::min(front + block_fronts, end);
            for (int done = 0; done < steps; done += group_steps) {
                const int count = std::min(group_steps, steps - done);
                for (index_t tile = 0; tile < tiles; ++tile) {
                    const Tile own{tile, {border(tile), border(tile + 1)}};
                    std::array<TileStep, group_steps> group;
                    for (int i = 0; i < count; ++i) {
                        group[i] = tile_step(done + i + 1, steps, own, first, last);
                    }
                    for (index_t f = front; f < next; f += 2) {
                        for (int i = 0; i < count; ++i) update_two(group[i], f - (done + i));
                    }
                }
            }
        }
    }

  private:
    TileStep tile_step(int step, int steps, const Tile& tile, index_t first, index_t last) const {
        TileStep s;
        s.from = step == 1 ? from_ : between_.after(step - 1, tile);
        s.to = step == steps ? to_ : between_.after(step, tile);
        const bool result = step == steps || step % group_steps == 0;
        const index_t beyond = result ? 0 : core::lanes<float>;
        s.columns = {std::max<index_t>(tile.columns.first - beyond, 0),
                     std::min(tile.columns.last + beyond, system_.shape.columns)};
        const index_t reach = steps - step;
        s.begin = std::max<index_t>(first - reach, 0);
        s.end = std::min(last + reach, system_.shape.rows);
        return s;
    }

    /// Updates those of rows y and y + 1 that belong to the step.
    void update_two(const TileStep& step, index_t y) const {
        if (y >= step.begin && y + 1 < step.end) {
            update<2>(step, y);
        } else if (y >= step.begin && y < step.end) {
            update<1>(step, y);
        } else if (y + 1 >= step.begin && y + 1 < step.end) {
            update<1>(step, y + 1);
        }
    }

    /// Updates rows [y, y + rows). Not inlined: the loops over fronts and steps would leave too few
    /// registers.
    template <int rows>
    [[gnu::noinline]] void update(const TileStep& step, index_t y) const {
        constexpr int lanes = core::lanes<float>;
        const bool replicate = system_.boundary == Boundary::replicate;
        std::array<const float*, rows + 2> from;
        std::array<const float*, rows> c;
        std::array<float*, rows> to;
        for (int r = 0; r < rows; ++r) {
            from[r + 1] = step.from[y + r];
            to[r] = step.to[y + r];
            c[r] = &coefficients_(y + r, Update::coefficients * step.columns.first);
        }
        from[0] = y > 0 ? step.from[y - 1] : replicate ? from[1] : zeros_;
        from[rows + 1] = y + rows < system_.shape.rows ? step.from[y + rows]
                         : replicate                   ? from[rows]
                                                       : zeros_;
        const NeighbourSum<coupling> sums[] = {{system_, y}, {system_, y + rows - 1}};
        Pack<float> left[2][rows], here[2][rows], right[2][rows];
        for (int i = 0; i < 2; ++i) {
            for (int r = 0; r < rows; ++r) {
                const float* const first = from[r + 1] + 2 * step.columns.first + i * lanes;
                left[i][r] = load(first - 2 * lanes);
                here[i][r] = load(first);
            }
        }
        for (index_t x = step.columns.first; x < step.columns.last; x += lanes) {
            Pack<float> sum[2][rows];
            for (int i = 0; i < 2; ++i) {
                const auto pack = [&](int row, int pixels) {
                    return load(from[row] + 2 * (x + pixels) + i * lanes);
                };
                Pack<float> column[rows + 2];
                column[0] = pack(0, 0);
                column[rows + 1] = pack(rows + 1, 0);
                for (int r = 0; r < rows; ++r) {
                    column[r + 1] = here[i][r];
                    right[i][r] = pack(r + 1, lanes);
                }
                for (int r = 0; r < rows; ++r) {
                    const auto diagonal = [&](int row) {
                        return left_of(pack(row, -lanes), column[row]) +
                               right_of(column[row], pack(row, lanes));
                    };
                    sum[i][r] = sums[r](x, left_of(left[i][r], here[i][r]),
                                        right_of(here[i][r], right[i][r]), column[r], column[r + 2],
                                        [&] { return diagonal(r) + diagonal(r + 2); });
                }
            }
            for (int r = 0; r < rows; ++r) {
                const auto [u, v] = Update::apply(c[r], PackPair{sum[0][r], sum[1][r]},
                                                  PackPair{here[0][r], here[1][r]});
                store(to[r] + 2 * x, u);
                store(to[r] + 2 * x + lanes, v);
                c[r] += Update::coefficients * lanes;
            }
            for (int i = 0; i < 2; ++i) {
                for (int r = 0; r < rows; ++r) {
                    left[i][r] = here[i][r];
                    here[i][r] = right[i][r];
                }
            }
        }
        for (float* const row : to) set_margins(row, step.columns);
    }

    /// Sets the pixels left and right of the image according to the boundary.
    void set_margins(float* row, Columns columns) const {
        const bool replicate = system_.boundary == Boundary::replicate;
        const index_t width = system_.shape.columns;
        for (float* const unknown : {row, row + core::lanes<float>}) {
            if (columns.first == 0) unknown[paired(-1)] = replicate ? unknown[0] : 0.0F;
            if (columns.last == width) {
                unknown[paired(width)] = replicate ? unknown[paired(width - 1)] : 0.0F;
            }
        }
    }

    const PreparedSystem& system_;
    const Coefficients& coefficients_;
    RowRing from_;
    RowRing to_;
    const float* zeros_;
    StepRows between_;
};

/// Pixels [x, x + count) of row y, padded with zeros.
PixelPack load_pixels(const PreparedSystem& prepared, const LinearSystem<core::Host>& system,
                      index_t y, index_t x, index_t count) {
    const auto pack = [&](const core::View<const float, 3, core::Host>& planes, index_t plane) {
        const float* const from = &planes(plane, y, x);
        if (count == core::lanes<float>) return load(from);
        Pack<float> values{};
        for (index_t lane = 0; lane < count; ++lane) values[lane] = from[lane];
        return values;
    };
    return {{pack(system.tensor, 0), pack(system.tensor, 1), pack(system.tensor, 2)},
            {pack(system.right, 0), pack(system.right, 1)},
            prepared.degrees(y, x),
            prepared.coupling == Coupling::weighted ? 1.0F : prepared.smoothness};
}

/// Returns false if a pixel has no such update.
template <class Update>
bool load_coefficients(core::Cpu& cpu, const PreparedSystem& prepared,
                       const LinearSystem<core::Host>& system, Coefficients& to) {
    constexpr index_t lanes = core::lanes<float>;
    std::atomic<bool> fits = true;
    for_rows(cpu, prepared.shape, [&](index_t y) {
        if (!fits) return;
        Pack<float> misfit{};
        float* next = &to(y, 0);
        for (index_t x = 0; x < prepared.shape.columns; x += lanes) {
            const PixelPack pixels =
                load_pixels(prepared, system, y, x, std::min(lanes, prepared.shape.columns - x));
            for (const Pack<float>& values : Update::of(pixels, misfit)) {
                store(next, values);
                next += lanes;
            }
        }
        for (index_t lane = 0; lane < lanes; ++lane) {
            if (misfit[lane] > 0.0F) fits = false;
        }
    });
    return fits;
}

}  // namespace

StationaryIteration::StationaryIteration(core::Cpu& cpu, Shape shape, Solver solver)
    : cpu_(&cpu),
      solver_(solver),
      flow_(shape.rows, shape.columns),
      other_(shape.rows, shape.columns),
      zeros_(1, shape.columns) {
    const index_t each =
        solver == Solver::jacobi ? DiagonalUpdate::coefficients : BlockUpdate::coefficients;
    coefficients_ = Coefficients({shape.rows, each * whole_packs(shape.columns)});
}

void StationaryIteration::load(const PreparedSystem& prepared,
                               const LinearSystem<core::Host>& system) {
    const auto load = [&](auto update) {
        return load_coefficients<decltype(update)>(*cpu_, prepared, system, coefficients_);
    };
    one_equation_ = false;
    if (solver_ == Solver::jacobi) {
        load(DiagonalUpdate{});
        return;
    }
    with_coupling(prepared.coupling, [&](auto coupling) {
        constexpr Coupling kind = decltype(coupling)::value;
        if constexpr (kind != Coupling::weighted) one_equation_ = load(OneEquationUpdate<kind>{});
    });
    if (!one_equation_) load(BlockUpdate{});
}

template <class Update, Coupling coupling>
void StationaryIteration::sweep_bands(const PreparedSystem& system, int count) {
    const index_t rows = system.shape.rows;
    const index_t bands = std::clamp<index_t>(rows / (2 * steps_at_once), 1, cpu_->threads());
    for (int done = 0; done < count; done += steps_at_once) {
        const int steps = std::min(steps_at_once, count - done);
        core::for_each_task(*cpu_, bands, StepRows::bytes(system.shape.columns),
                            [&](index_t band, std::byte* scratch) {
                                Band<Update, coupling> task(system, coefficients_, flow_.ring(),
                                                            other_.ring(), zeros_.row(0), scratch);
                                task.sweep(rows * band / bands, rows * (band + 1) / bands, steps);
                            });
        std::swap(flow_, other_);
    }
}

void StationaryIteration::sweep(const PreparedSystem& system, PaddedPlanes& flow, int count) {
    for_rows(*cpu_, system.shape, [&](index_t y) { flow_.load_row(flow, y); });
    with_coupling(system.coupling, [&](auto coupling) {
        constexpr Coupling kind = decltype(coupling)::value;
        if (solver_ == Solver::jacobi) return sweep_bands<DiagonalUpdate, kind>(system, count);
        if constexpr (kind != Coupling::weighted) {
            if (one_equation_) return sweep_bands<OneEquationUpdate<kind>, kind>(system, count);
        }
        sweep_bands<BlockUpdate, kind>(system, count);
    });
    for_rows(*cpu_, system.shape, [&](index_t y) {
        flow_.store_row(flow, y);
        set_margins(flow, y, system.boundary);
    });
}

}  // namespace aperture::flow
