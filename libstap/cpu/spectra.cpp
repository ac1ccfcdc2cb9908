// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/stap/spectra.hpp"

#include <algorithm>
#include <limits>

#include "aperture/core/shape.hpp"
#include "aperture/stap/attempts.hpp"
#include "libcore/cpu/worker_tasks.hpp"
#include "libstap/cpu/cell_covariance.hpp"
#include "libstap/cpu/doppler_cube.hpp"

namespace aperture::stap {
namespace {

using core::Host;
using Complex = std::complex<double>;
using Vector = core::View<const Complex, 1, Host>;

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

void check_cell(const Problem& problem, index_t range_cell,
                const core::View<const cfloat, 2, Host>& directions) {
    core::expects(range_cell >= 0 && range_cell < problem.shape.range_cells, "range cell ",
                  range_cell, " is outside 0 .. ", problem.shape.range_cells - 1);
    core::expects_shape("directions", directions, {directions.extent[0], problem.order});
}

/// What the training of one range cell reads, in the Doppler domain.
struct TrainingSlice {
    TrainingSlice(core::Cpu& cpu, const Problem& whole, CubeView<Host> cube, index_t cell)
        : problem(whole) {
        const CubeShape& shape = whole.shape;
        core::expects_shape("cube", cube, {shape.channels, shape.pulses, shape.range_cells},
                            core::Strides::unit_last);
        const RangeSpan read = cpu::cells_read_for(whole, cell);
        // The slice trains the cell as the whole does: it is one block or one window, and is cut
        // off where the cube ends.
        problem.shape.range_cells = read.cells();
        range_cell = cell - read.begin;
        doppler_cube =
            cpu::in_doppler_domain(cpu, problem, cube.slice(2, read.begin, read.end), filtered_);
    }

    Problem problem;
    index_t range_cell;
    CubeView<Host> doppler_cube;

  private:
    core::Array<cfloat, 3> filtered_;
};

core::Array<Complex, 2> widen(core::View<const cfloat, 2, Host> vectors) {
    core::Array<Complex, 2> wide(vectors.extent);
    for (index_t a = 0; a < vectors.extent[0]; ++a)
        for (index_t i = 0; i < vectors.extent[1]; ++i) wide(a, i) = Complex(vectors(a, i));
    return wide;
}

/// a^H b
Complex inner_product(Vector a, Vector b) {
    Complex sum = 0;
    for (index_t i = 0; i < a.extent[0]; ++i) sum += std::conj(a[i]) * b[i];
    return sum;
}

/// v^H R v
double quadratic_form(core::View<const Complex, 2, Host> r, Vector v) {
    double sum = 0;
    for (index_t i = 0; i < v.extent[0]; ++i) {
        Complex row = 0;
        for (index_t j = 0; j < v.extent[0]; ++j) row += r(i, j) * v[j];
        sum += (std::conj(v[i]) * row).real();
    }
    return sum;
}

bool is_trusted_in_fp64(const Problem& problem, const cpu::CellSystems& systems, index_t place) {
    return !needs_another(fp64_attempt, systems.info(place),
                          static_cast<float>(systems.pivot_ratio(place)), problem.order);
}

void write_spectra(const cpu::CellSystems& systems, index_t place,
                   core::View<const Complex, 2, Host> directions,
                   core::View<double, 1, Host> conventional,
                   core::View<double, 1, Host> minimum_variance) {
    const core::View<const Complex, 3, Host> covariance = systems.covariance;
    const core::View<const Complex, 3, Host> solutions = systems.vectors;
    for (index_t a = 0; a < directions.extent[0]; ++a) {
        const double power = inner_product(directions[a], directions[a]).real();
        conventional[a] = quadratic_form(covariance[place], directions[a]) / power;
        minimum_variance[a] = power / inner_product(directions[a], solutions[place][a]).real();
    }
}

}  // namespace

InterferenceSpectra interference_spectra(core::Cpu& cpu, const Problem& problem,
                                         CubeView<Host> cube, index_t range_cell,
                                         core::View<const cfloat, 2, Host> directions) {
    check_cell(problem, range_cell, directions);
    const TrainingSlice slice(cpu, problem, cube, range_cell);
    const core::Array<Complex, 2> wide = widen(directions);
    const index_t count = directions.extent[0];
    const index_t bins = problem.doppler_bins;
    InterferenceSpectra spectra{core::Array<double, 2>({bins, count}),
                                core::Array<double, 2>({bins, count})};
    const index_t chunk = cpu::places_at_a_time(problem, count);
    cpu::CellSystems systems;
    for (index_t first = 0; first < bins; first += chunk) {
        const index_t last = std::min(first + chunk, bins);
        std::vector<cpu::Place> places;
        for (index_t k = first; k < last; ++k) places.push_back({k, slice.range_cell});
        systems.vectors.reshape({last - first, count, problem.order});
        for (index_t place = 0; place < last - first; ++place)
            std::copy_n(wide.data(), wide.size(), systems.vectors.data() + place * wide.size());
        cpu::solve_cells(cpu, slice.problem, slice.doppler_cube, places, systems);
        core::for_each_task(cpu, last - first, 0, [&](index_t place, std::byte*) {
            const auto conventional = spectra.conventional.view()[first + place];
            const auto minimum_variance = spectra.minimum_variance.view()[first + place];
            if (is_trusted_in_fp64(problem, systems, place)) {
                write_spectra(systems, place, wide, conventional, minimum_variance);
            } else {
                std::fill_n(conventional.data, count, not_a_number);
                std::fill_n(minimum_variance.data, count, not_a_number);
            }
        });
    }
    return spectra;
}

std::vector<double> adapted_pattern(core::Cpu& cpu, const Problem& problem, CubeView<Host> cube,
                                    index_t range_cell, int doppler_bin,
                                    core::View<const cfloat, 1, Host> steering_vector,
                                    core::View<const cfloat, 2, Host> directions) {
    check_cell(problem, range_cell, directions);
    core::expects(doppler_bin >= 0 && doppler_bin < problem.doppler_bins, "Doppler bin ",
                  doppler_bin, " is outside 0 .. ", problem.doppler_bins - 1);
    core::expects_shape("steering vector", steering_vector, {problem.order});
    const TrainingSlice slice(cpu, problem, cube, range_cell);
    core::Array<Complex, 1> v0({problem.order});
    for (index_t i = 0; i < problem.order; ++i) v0(i) = Complex(steering_vector[i]);
    cpu::CellSystems systems;
    systems.vectors.reshape({1, 1, problem.order});
    std::copy_n(v0.data(), problem.order, systems.vectors.data());
    cpu::solve_cells(cpu, slice.problem, slice.doppler_cube, {{doppler_bin, slice.range_cell}},
                     systems);
    const core::Array<Complex, 2> wide = widen(directions);
    const Vector w(systems.vectors.data(), {problem.order});
    const bool trusted = is_trusted_in_fp64(problem, systems, 0);
    const double mainlobe = std::norm(inner_product(w, v0));
    std::vector<double> pattern;
    for (index_t a = 0; a < directions.extent[0]; ++a)
        pattern.push_back(trusted ? std::norm(inner_product(w, wide.view()[a])) / mainlobe
                                  : not_a_number);
    return pattern;
}

}  // namespace aperture::stap
