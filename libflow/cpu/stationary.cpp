// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libflow/cpu/stationary.hpp"

#include <array>
#include <utility>

#include "aperture/core/worker_tasks.hpp"
#include "libflow/cpu/row_loops.hpp"

namespace aperture::flow {
namespace {

using core::load;
using core::Pack;
using core::store;

// Several steps run over the image at a time. A step on a row can follow as soon as the step before
// it is a row further, so a front moves down the image with the steps behind it, a row apart; what
// the front touches stays in a second-level cache. Steps come in groups, and a group takes a block
// of fronts a tile of columns at a time: what that touches stays in a first-level cache.

/// Steps from reading the whole image to reading it again: more wait less for memory and repeat
/// more rows where two threads meet.
constexpr int steps_at_once = 16;
/// Steps that share what the first-level cache holds: the coefficients of as many rows of a tile.
constexpr int group_steps = 4;
constexpr index_t tile_columns = 192;
/// Rows of a group's result that are kept for the next group, and fronts of a block.
constexpr index_t kept_rows = 16;
constexpr index_t block_fronts = kept_rows - 2;
static_assert(group_steps <= core::lanes<float> && core::lanes<float> <= row_margin);

/// The columns [first, last) that a tile computes; `first` is where a pack begins.
struct Columns {
    index_t first;
    index_t last;
};

/// Sums without weights lack alpha^2.
float scale_of_sums(const PreparedSystem& system) {
    return system.coupling == Coupling::weighted ? 1.0F : system.smoothness;
}

/// u' = a S_u + b S_v + c, and v' likewise: five coefficients a pixel.
struct BlockUpdate {
    static constexpr int coefficients = 5;

    /// The coefficients of the pack at pixel x of row y.
    static std::array<Pack<float>, coefficients> of(const PreparedSystem& system, index_t y,
                                                    index_t x) {
        const Pack<float> i11 = load(system.inverse.row(0, y) + x);
        const Pack<float> i12 = load(system.inverse.row(1, y) + x);
        const Pack<float> i22 = load(system.inverse.row(2, y) + x);
        const Pack<float> b_u = load(system.right.row(0, y) + x);
        const Pack<float> b_v = load(system.right.row(1, y) + x);
        const float scale = scale_of_sums(system);
        return {scale * i11, scale * i12, scale * i22, i11 * b_u + i12 * b_v,
                i12 * b_u + i22 * b_v};
    }

    static std::pair<Pack<float>, Pack<float>> apply(const float* c, Pack<float> sum_u,
                                                     Pack<float> sum_v, Pack<float>, Pack<float>) {
        constexpr int lanes = core::lanes<float>;
        const Pack<float> cross = load(c + lanes);
        return {load(c) * sum_u + (cross * sum_v + load(c + 3 * lanes)),
                cross * sum_u + (load(c + 2 * lanes) * sum_v + load(c + 4 * lanes))};
    }
};

/// u' = (S_u + b_u - J12 v) / D11, and v' likewise.
struct DiagonalUpdate {
    static constexpr int coefficients = 6;

    static std::array<Pack<float>, coefficients> of(const PreparedSystem& system, index_t y,
                                                    index_t x) {
        const Pack<float> zero{};
        const Pack<float> d = system.degrees(y, x);
        const Pack<float> d11 = load(system.tensor.row(0, y) + x) + d;
        const Pack<float> d22 = load(system.tensor.row(2, y) + x) + d;
        const Pack<float> i11 = d11 > 0.0F ? 1.0F / d11 : zero;
        const Pack<float> i22 = d22 > 0.0F ? 1.0F / d22 : zero;
        const Pack<float> cross = load(system.tensor.row(1, y) + x);
        const float scale = scale_of_sums(system);
        return {scale * i11,
                scale * i22,
                -i11 * cross,
                -i22 * cross,
                i11 * load(system.right.row(0, y) + x),
                i22 * load(system.right.row(1, y) + x)};
    }

    static std::pair<Pack<float>, Pack<float>> apply(const float* c, Pack<float> sum_u,
                                                     Pack<float> sum_v, Pack<float> u,
                                                     Pack<float> v) {
        constexpr int lanes = core::lanes<float>;
        return {load(c) * sum_u + (load(c + 2 * lanes) * v + load(c + 4 * lanes)),
                load(c + lanes) * sum_v + (load(c + 3 * lanes) * u + load(c + 5 * lanes))};
    }
};

struct Tile {
    index_t number;
    Columns columns;
};

/// What lies between the steps of a band: of a group's last step the rows that the next group
/// needs, of its other steps three rows of every tile and of the pack on either side of it.
class StepRows {
  public:
    static std::size_t bytes(index_t columns) {
        return sizeof(float) * static_cast<std::size_t>(
                                   2 * (results * kept_rows * pitch(columns) +
                                        tiles(columns) * steps_at_once * 3 * pitch(tile_columns)));
    }
    StepRows(std::byte* memory, index_t columns)
        : results_(reinterpret_cast<float*>(memory) + row_margin),
          pitch_(pitch(columns)),
          inner_(results_ + 2 * results * kept_rows * pitch_) {}

    static index_t tiles(index_t columns) { return (columns + tile_columns - 1) / tile_columns; }

    /// Pixel 0 of row y of the image after `step` steps in a tile.
    float* row(int step, int unknown, index_t y, const Tile& tile) const {
        if (step % group_steps == 0) {
            const int group = step / group_steps - 1;
            return results_ + ((group * kept_rows + y % kept_rows) * 2 + unknown) * pitch_;
        }
        const index_t rows = (tile.number * steps_at_once + step) * 3;
        return inner_ + ((rows + y % 3) * 2 + unknown) * pitch(tile_columns) - tile.columns.first;
    }

  private:
    static constexpr int results = steps_at_once / group_steps - 1;
    static index_t pitch(index_t columns) {
        return whole_packs(columns) + core::lanes<float> + 2 * row_margin;
    }

    float* results_;
    index_t pitch_;
    float* inner_;
};

constexpr std::make_integer_sequence<int, core::lanes<float>> all_lanes{};

/// As many lanes from number `first` on of `a` with `b` behind it.
template <int first, int... lane>
Pack<float> lanes_of(Pack<float> a, Pack<float> b, std::integer_sequence<int, lane...>) {
    return __builtin_shufflevector(a, b, (first + lane)...);
}

/// The given columns of row y after a step. A function of its own: inlined into the loops over rows
/// and steps it has too few registers for its pointers. Of five points it reads whole packs only:
/// one a pixel aside would touch two cache lines.
template <class Update, Coupling coupling>
[[gnu::noinline]] void update_columns(const PreparedSystem& system, index_t y, Columns columns,
                                      RowPointers u, RowPointers v, const float* coefficients,
                                      float* new_u, float* new_v) {
    constexpr int lanes = core::lanes<float>;
    const NeighbourSum<coupling> sum(system, y);
    Pack<float> left_u = load(u.middle + columns.first - lanes);
    Pack<float> left_v = load(v.middle + columns.first - lanes);
    Pack<float> here_u = load(u.middle + columns.first);
    Pack<float> here_v = load(v.middle + columns.first);
    for (index_t x = columns.first; x < columns.last; x += lanes) {
        const Pack<float> right_u = load(u.middle + x + lanes);
        const Pack<float> right_v = load(v.middle + x + lanes);
        const auto around = [&](const RowPointers& rows, Pack<float> left, Pack<float> here,
                                Pack<float> right) {
            if constexpr (coupling != Coupling::five) return sum(rows, x);
            return (lanes_of<lanes - 1>(left, here, all_lanes) +
                    lanes_of<1>(here, right, all_lanes)) +
                   (load(rows.above + x) + load(rows.below + x));
        };
        const auto [next_u, next_v] =
            Update::apply(coefficients, around(u, left_u, here_u, right_u),
                          around(v, left_v, here_v, right_v), here_u, here_v);
        store(new_u + x, next_u);
        store(new_v + x, next_v);
        coefficients += Update::coefficients * lanes;
        left_u = here_u;
        left_v = here_v;
        here_u = right_u;
        here_v = right_v;
    }
}

template <class Update, Coupling coupling>
class Band {
  public:
    Band(const PreparedSystem& system, const Coefficients& coefficients, const PaddedPlanes& from,
         PaddedPlanes& to, const float* zeros, std::byte* scratch)
        : system_(system),
          coefficients_(coefficients),
          from_(from),
          to_(to),
          zeros_(zeros),
          between_(scratch, system.shape.columns) {}

    /// Rows [first, last) after `steps` steps.
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
                const int group_end = std::min(done + group_steps, steps);
                for (index_t tile = 0; tile < tiles; ++tile) {
                    const Tile own{tile, {border(tile), border(tile + 1)}};
                    for (index_t f = front; f < next; ++f) {
                        for (int step = done + 1; step <= group_end; ++step) {
                            const index_t y = f - (step - 1);
                            const index_t reach = steps - step;
                            if (y < std::max<index_t>(first - reach, 0)) break;
                            if (y >= std::min(last + reach, system_.shape.rows)) continue;
                            update_row(y, step, steps, own);
                        }
                    }
                }
            }
        }
    }

  private:
    RowPointers around(int unknown, int step, index_t y, const Tile& tile) const {
        return rows_around(y, system_.shape, system_.boundary, zeros_, [&](index_t at) {
            return step == 0 ? from_.row(unknown, at) : between_.row(step, unknown, at, tile);
        });
    }

    void update_row(index_t y, int step, int steps, const Tile& tile) {
        const index_t width = system_.shape.columns;
        const bool result = step == steps || step % group_steps == 0;
        const index_t beyond = result ? 0 : core::lanes<float>;
        const Columns own{std::max<index_t>(tile.columns.first - beyond, 0),
                          std::min(tile.columns.last + beyond, width)};
        float* const new_u = step == steps ? to_.row(0, y) : between_.row(step, 0, y, tile);
        float* const new_v = step == steps ? to_.row(1, y) : between_.row(step, 1, y, tile);
        update_columns<Update, coupling>(
            system_, y, own, around(0, step - 1, y, tile), around(1, step - 1, y, tile),
            &coefficients_(y, Update::coefficients * own.first), new_u, new_v);
        for (float* const row : {new_u, new_v}) {
            if (own.first == 0) set_left_margin(row, system_.boundary);
            if (own.last == width) set_right_margin(row, width, system_.boundary);
        }
    }

    const PreparedSystem& system_;
    const Coefficients& coefficients_;
    const PaddedPlanes& from_;
    PaddedPlanes& to_;
    const float* zeros_;
    StepRows between_;
};

template <class Update>
void take_coefficients(core::Cpu& cpu, const PreparedSystem& system, Coefficients& to) {
    for_rows(cpu, system.shape, [&](index_t y) {
        float* next = &to(y, 0);
        for (index_t x = 0; x < system.shape.columns; x += core::lanes<float>) {
            for (const Pack<float>& values : Update::of(system, y, x)) {
                store(next, values);
                next += core::lanes<float>;
            }
        }
    });
}

template <class Update>
void sweep_bands(core::Cpu& cpu, const PreparedSystem& system, const Coefficients& coefficients,
                 PaddedPlanes& flow, PaddedPlanes& other, const ZeroRow& zeros, int count) {
    const index_t rows = system.shape.rows;
    const index_t bands = std::clamp<index_t>(rows / (2 * steps_at_once), 1, cpu.threads());
    for (int done = 0; done < count; done += steps_at_once) {
        const int steps = std::min(steps_at_once, count - done);
        with_coupling(system.coupling, [&](auto coupling) {
            core::for_each_task(cpu, bands, StepRows::bytes(system.shape.columns),
                                [&](index_t band, std::byte* scratch) {
                                    Band<Update, decltype(coupling)::value> task(
                                        system, coefficients, flow, other, zeros.data(), scratch);
                                    task.sweep(rows * band / bands, rows * (band + 1) / bands,
                                               steps);
                                });
        });
        std::swap(flow, other);
    }
}

}  // namespace

StationaryIteration::StationaryIteration(core::Cpu& cpu, Shape shape, Solver solver)
    : cpu_(&cpu), solver_(solver), other_(2, shape), zeros_(shape.columns) {
    const index_t each =
        solver == Solver::jacobi ? DiagonalUpdate::coefficients : BlockUpdate::coefficients;
    coefficients_ = Coefficients({shape.rows, each * whole_packs(shape.columns)});
}

void StationaryIteration::take(const PreparedSystem& system) {
    if (solver_ == Solver::jacobi) {
        take_coefficients<DiagonalUpdate>(*cpu_, system, coefficients_);
    } else {
        take_coefficients<BlockUpdate>(*cpu_, system, coefficients_);
    }
}

void StationaryIteration::sweep(const PreparedSystem& system, PaddedPlanes& flow, int count) {
    if (solver_ == Solver::jacobi) {
        sweep_bands<DiagonalUpdate>(*cpu_, system, coefficients_, flow, other_, zeros_, count);
    } else {
        sweep_bands<BlockUpdate>(*cpu_, system, coefficients_, flow, other_, zeros_, count);
    }
}

}  // namespace aperture::flow
