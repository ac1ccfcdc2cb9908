// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/corr/correlator.hpp"

#include <cmath>
#include <vector>

#include "aperture/core/error.hpp"
#include "aperture/core/shape.hpp"
#include "aperture/core/worker_tasks.hpp"
#include "aperture/signal/summed_area.hpp"
#include "libcorr/cpu/direct.hpp"
#include "libcorr/cpu/fft_correlation.hpp"

namespace aperture::corr {
namespace {

/// A mean below this part of the root mean square costs no accuracy and stays in.
constexpr double little_ground = 0.5;

/// To ten bits, which leaves what is taken from most values without rounding.
double rounded(double mean) {
    int exponent = 0;
    const double mantissa = std::frexp(mean, &exponent);
    return std::ldexp(std::round(std::ldexp(mantissa, 10)), exponent - 10);
}

/// What is taken from the planes of one image before they are correlated.
class Ground {
  public:
    Ground() = default;
    Ground(index_t planes, index_t rows)
        : of_planes_(static_cast<std::size_t>(planes)),
          contrast_(static_cast<std::size_t>(planes)),
          of_rows_({planes, rows, 2}) {}

    void find(core::Cpu& cpu, PlanesView<core::Host> image) {
        const index_t planes = image.extent[0];
        const index_t rows = image.extent[1];
        const index_t columns = image.extent[2];
        core::for_each_task(cpu, planes * rows, 0, [&](index_t task, std::byte*) {
            const index_t p = task / rows;
            const index_t y = task % rows;
            const float* row = &image(p, y, 0);
            // A ground need not be the mean to the last digit.
            float sum = 0;
            float squares = 0;
#pragma omp simd reduction(+ : sum, squares)
            for (index_t x = 0; x < columns; ++x) {
                sum += row[x];
                squares += row[x] * row[x];
            }
            of_rows_(p, y, 0) = static_cast<double>(sum);
            of_rows_(p, y, 1) = static_cast<double>(squares);
        });
        for (index_t p = 0; p < planes; ++p) {
            double sum = 0;
            double squares = 0;
            for (index_t y = 0; y < rows; ++y) {
                sum += of_rows_(p, y, 0);
                squares += of_rows_(p, y, 1);
            }
            const auto pixels = static_cast<double>(rows * columns);
            const double mean = sum / pixels;
            const bool little = std::abs(mean) <= little_ground * std::sqrt(squares / pixels);
            const double ground = little ? 0.0 : rounded(mean);
            of_planes_[static_cast<std::size_t>(p)] = ground;
            contrast_[static_cast<std::size_t>(p)] =
                std::sqrt(std::max(squares / pixels - ground * (2 * mean - ground), 0.0));
        }
    }
    /// Root mean square of what is left.
    double contrast(index_t plane) const { return contrast_[static_cast<std::size_t>(plane)]; }
    const double* data() const { return of_planes_.data(); }
    double of(index_t plane) const { return of_planes_[static_cast<std::size_t>(plane)]; }

  private:
    std::vector<double> of_planes_;
    std::vector<double> contrast_;
    core::Array<double, 3> of_rows_;  ///< [plane][row]: sums, sums of squares
};

void take_planes(core::Cpu& cpu, const GroundedPlanes& image, PaddedRows& to) {
    const index_t planes = image.planes.extent[0];
    const index_t rows = image.planes.extent[1];
    const index_t columns = image.planes.extent[2];
    core::for_each_task(cpu, planes * rows, 0, [&](index_t task, std::byte*) {
        const index_t p = task / rows;
        const index_t y = task % rows;
        const auto ground = static_cast<float>(image.ground[p]);
        const float* from = &image.planes(p, y, 0);
        float* const row = to.row(p, y);
        for (index_t x = 0; x < columns; ++x) row[x] = from[x] - ground;
    });
}

}  // namespace

void validate(const Problem& problem) {
    const auto& [rows, columns] = problem.image;
    core::expects(problem.planes >= 1 && rows >= 1 && columns >= 1, "correlation of ",
                  problem.planes, " planes of ", rows, " x ", columns, " pixels");
    const Lags& lags = problem.lags;
    core::expects(
        lags.rows >= 1 && lags.columns >= 1 && lags.rows <= rows && lags.columns <= columns,
        "offsets are ", lags.rows, " x ", lags.columns, ", expected 1 x 1 to ", rows, " x ",
        columns, ", the size of the image");
}

template <>
struct Correlator<core::Cpu>::State {
    core::Cpu& cpu;
    Problem problem;
    Ground ground_a;
    Ground ground_b;
    signal::SummedAreas areas;
    std::vector<double> mean_product;
    DirectCorrelation direct;
    FftCorrelation fft;

    State(core::Cpu& executor, const Problem& p)
        : cpu(executor),
          problem(p),
          ground_a(p.planes, p.image.rows),
          ground_b(p.planes, p.image.rows),
          mean_product(static_cast<std::size_t>(p.planes)) {
        if (p.method == Method::direct) {
            direct = DirectCorrelation(p);
        } else {
            fft = FftCorrelation(p);
        }
    }

    void correlate(const GroundedPlanes& a, const GroundedPlanes& b, const Ground& of_b, bool same,
                   core::View<double, 3, core::Host> sums) {
        if (problem.method == Method::fft) return fft.run(cpu, a, b, same, sums);
        take_planes(cpu, a, direct.a());
        if (!same) take_planes(cpu, b, direct.b());
        for (std::size_t p = 0; p < mean_product.size(); ++p) {
            const auto plane = static_cast<index_t>(p);
            mean_product[p] = ground_a.contrast(plane) * of_b.contrast(plane);
        }
        direct.run(cpu, direct.a(), same ? direct.a() : direct.b(), mean_product.data(), sums);
    }

    /// What grounds a and b contribute to sum (A' + a) (B' + b): a sum B' + b sum A' + a b, for
    /// planes A' and B' without them; here a sum B' is added, or `sign` times it.
    void add_ground(const GroundedPlanes& image, const Ground& own, const Ground& other,
                    bool from_lag, core::View<double, 3, core::Host> sums) {
        const index_t rows = problem.image.rows;
        const index_t columns = problem.image.columns;
        const Lags& lags = problem.lags;
        const Shape extent = lags.extent();
        for (index_t p = 0; p < problem.planes; ++p) {
            const double factor = other.of(p);
            if (factor == 0) continue;
            areas.take(cpu, image.planes.slice(0, p, p + 1), own.of(p));
            const index_t surface = problem.each_plane ? p : 0;
            core::for_each_task(cpu, extent.rows, 0, [&](index_t i, std::byte*) {
                const index_t dy = lags.first_row() + i;
                for (index_t j = 0; j < extent.columns; ++j) {
                    const index_t dx = lags.first_column() + j;
                    const index_t top = std::max<index_t>(from_lag ? dy : -dy, 0);
                    const index_t left = std::max<index_t>(from_lag ? dx : -dx, 0);
                    sums(surface, i, j) += factor * areas.sum(top, top + overlap(rows, dy), left,
                                                              left + overlap(columns, dx));
                }
            });
        }
    }

    void add_both_grounds(const Ground& of_b, core::View<double, 3, core::Host> sums) {
        const auto [rows, columns] = problem.image;
        const Shape extent = problem.lags.extent();
        for (index_t p = 0; p < problem.planes; ++p) {
            const double both = ground_a.of(p) * of_b.of(p);
            if (both == 0) continue;
            const index_t surface = problem.each_plane ? p : 0;
            for (index_t i = 0; i < extent.rows; ++i) {
                const index_t dy = problem.lags.first_row() + i;
                for (index_t j = 0; j < extent.columns; ++j) {
                    const index_t dx = problem.lags.first_column() + j;
                    sums(surface, i, j) +=
                        both * static_cast<double>(overlap(rows, dy) * overlap(columns, dx));
                }
            }
        }
    }
};

template <>
Correlator<core::Cpu>::Correlator(core::Cpu& cpu, const Problem& problem) {
    validate(problem);
    state_ = std::make_unique<State>(cpu, problem);
}
template <>
Correlator<core::Cpu>::~Correlator() = default;
template <>
Correlator<core::Cpu>::Correlator(Correlator&&) noexcept = default;
template <>
Correlator<core::Cpu>& Correlator<core::Cpu>::operator=(Correlator&&) noexcept = default;

template <>
void Correlator<core::Cpu>::run(PlanesView<core::Host> a, PlanesView<core::Host> b,
                                core::View<double, 3, core::Host> sums) {
    State& s = *state_;
    const auto [rows, columns] = s.problem.image;
    const Shape extent = s.problem.lags.extent();
    core::expects_shape("image a", a, {s.problem.planes, rows, columns}, core::Strides::unit_last);
    core::expects_shape("image b", b, {s.problem.planes, rows, columns}, core::Strides::unit_last);
    core::expects_shape("sums", sums,
                        {s.problem.each_plane ? s.problem.planes : 1, extent.rows, extent.columns},
                        core::Strides::dense);
    const bool same = a.data == b.data && a.stride == b.stride;
    s.ground_a.find(s.cpu, a);
    if (!same) s.ground_b.find(s.cpu, b);
    const Ground& ground_b = same ? s.ground_a : s.ground_b;
    const GroundedPlanes of_a{a, s.ground_a.data()};
    const GroundedPlanes of_b{b, ground_b.data()};
    s.correlate(of_a, of_b, ground_b, same, sums);
    s.add_ground(of_a, s.ground_a, ground_b, true, sums);
    s.add_ground(of_b, ground_b, s.ground_a, false, sums);
    s.add_both_grounds(ground_b, sums);
}

}  // namespace aperture::corr
