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

/// Steps that run over a band in one go: more wait less for memory and repeat more rows.
constexpr int steps_at_once = 16;

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

/// The rows of all steps but the last that a band still needs: three a step and unknown.
class StepRows {
  public:
    static std::size_t bytes(index_t columns) {
        return sizeof(float) * static_cast<std::size_t>(steps_at_once * 3 * 2 * pitch(columns));
    }
    StepRows(std::byte* memory, index_t columns)
        : first_(reinterpret_cast<float*>(memory) + row_margin), pitch_(pitch(columns)) {}

    float* row(int step, int unknown, index_t y) const {
        return first_ + ((step * 3 + y % 3) * 2 + unknown) * pitch_;
    }

  private:
    static index_t pitch(index_t columns) { return whole_packs(columns) + 2 * row_margin; }

    float* first_;
    index_t pitch_;
};

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

    void sweep(index_t first, index_t last, int steps) {
        const index_t rows = system_.shape.rows;
        for (index_t front = std::max<index_t>(first - steps + 1, 0); front < last + steps - 1;
             ++front) {
            for (int step = 1; step <= steps; ++step) {
                const index_t y = front - (step - 1);
                const index_t reach = steps - step;
                if (y < std::max<index_t>(first - reach, 0)) break;
                if (y >= std::min(last + reach, rows)) continue;
                update_row(y, step, steps);
            }
        }
    }

  private:
    RowPointers around(int unknown, int step, index_t y) const {
        return rows_around(y, system_.shape, system_.boundary, zeros_, [&](index_t at) {
            return step == 0 ? from_.row(unknown, at) : between_.row(step, unknown, at);
        });
    }

    void update_row(index_t y, int step, int steps) {
        const index_t columns = system_.shape.columns;
        const RowPointers u = around(0, step - 1, y);
        const RowPointers v = around(1, step - 1, y);
        float* const new_u = step == steps ? to_.row(0, y) : between_.row(step, 0, y);
        float* const new_v = step == steps ? to_.row(1, y) : between_.row(step, 1, y);
        const NeighbourSum<coupling> sum(system_, y);
        const float* coefficients = &coefficients_(y, 0);
        for (index_t x = 0; x < columns; x += core::lanes<float>) {
            const auto [next_u, next_v] = Update::apply(coefficients, sum(u, x), sum(v, x),
                                                        load(u.middle + x), load(v.middle + x));
            store(new_u + x, next_u);
            store(new_v + x, next_v);
            coefficients += Update::coefficients * core::lanes<float>;
        }
        set_margins(new_u, columns, system_.boundary);
        set_margins(new_v, columns, system_.boundary);
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
