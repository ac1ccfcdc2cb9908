// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libsignal/registration.hpp"

#include "aperture/signal/fft.hpp"
#include "aperture/signal/resample.hpp"
#include "libcore/cpu/worker_tasks.hpp"
#include "libcore/rounding.hpp"
#include "libsignal/cpu/lane_fft.hpp"

namespace aperture::signal {

using core::Cpu;
using core::Host;
using core::Pack;

template <>
class SpectrumPasses<Cpu> {
  public:
    using Image = core::View<const float, 2, Host>;

    SpectrumPasses(Cpu& cpu, const core::Extents<2>& image)
        : cpu_(cpu),
          padded_{good_lane_fft_length(image[0]), good_lane_fft_length(image[1])},
          z_({core::round_up(padded_[0], at_once), core::round_up(padded_[1], at_once)}),
          cross_({half_rows(padded_[0]), 2, z_.extent()[1]}),
          rows_(cpu, {static_cast<int>(padded_[1]), at_once, 1, z_.extent()[1]}),
          columns_(cpu, {static_cast<int>(padded_[0]), at_once, z_.extent()[1], 1}) {}

    core::Extents<2> padded() const { return padded_; }

    core::View<const double, 2, Host> taper_sums(Image a, Image b, const OverlapTapers& tapers) {
        const Tapers of(a.extent, tapers);
        return for_each_row(a.extent[0], 2, [&](index_t row, double* sums) {
            float sum_a = 0;
            float sum_b = 0;
            const float* const from_a = &a(row, 0);
            const float* const from_b = &b(row, 0);
#pragma omp simd reduction(+ : sum_a, sum_b)
            for (index_t x = 0; x < a.extent[1]; ++x) {
                sum_a += of.columns_a[x] * from_a[x];
                sum_b += of.columns_b[x] * from_b[x];
            }
            sums[0] = static_cast<double>(of.rows_a[row] * sum_a);
            sums[1] = static_cast<double>(of.rows_b[row] * sum_b);
        });
    }

    void transform(Image a, Image b, const OverlapTapers& tapers, double mean_a, double mean_b) {
        const Tapers of(a.extent, tapers);
        const auto less_a = static_cast<float>(mean_a);
        const auto less_b = static_cast<float>(mean_b);
        const index_t columns = a.extent[1];
        core::for_each_task(cpu_, z_.extent()[0] / at_once, 0, [&](index_t task, std::byte*) {
            for (index_t row = task * at_once; row < (task + 1) * at_once; ++row) {
                Complex<float>* const to = &z_(row, 0);
                index_t x = 0;
                if (row < a.extent[0]) {
                    const float* const from_a = &a(row, 0);
                    const float* const from_b = &b(row, 0);
                    const float row_a = of.rows_a[row];
                    const float row_b = of.rows_b[row];
                    for (; x < columns; ++x) {
                        to[x] = {row_a * of.columns_a[x] * (from_a[x] - less_a),
                                 row_b * of.columns_b[x] * (from_b[x] - less_b)};
                    }
                }
                std::fill(to + x, to + z_.extent()[1], Complex<float>(0));
            }
            if (task * at_once < a.extent[0]) rows_.run(numbers(task * at_once, 0));
        });
        transform_columns();
    }

    core::View<const double, 2, Host> cross() {
        const auto [rows, columns] = padded_;
        return for_each_row(
            half_rows(rows), 2, [&, rows = rows, columns = columns](index_t row, double* powers) {
                const Complex<float>* const of_row = &z_(row, 0);
                const Complex<float>* const mirror = &z_(row == 0 ? 0 : rows - row, 0);
                float* const to_re = &cross_(row, 0, 0);
                float* const to_im = &cross_(row, 1, 0);
                std::fill_n(to_re, 2 * cross_.extent()[2], 0.0F);
                if (is_highest(row, rows)) {
                    powers[0] = powers[1] = 0;
                    return;
                }
                float power_a = 0;
                float power_b = 0;
                const auto at = [&](index_t x, index_t mirrored) {
                    const CrossTerm term = cross_term(of_row[x], mirror[mirrored]);
                    to_re[x] = term.cross.re;
                    to_im[x] = term.cross.im;
                    power_a += term.power_a;
                    power_b += term.power_b;
                };
                at(0, 0);
                for (index_t x = 1; x < columns; ++x) {
                    if (!is_highest(x, columns)) at(x, columns - x);
                }
                powers[0] = static_cast<double>(power_a);
                powers[1] = static_cast<double>(power_b);
            });
    }

    core::View<const double, 2, Host> score(const std::vector<Complex<float>>& waves) {
        const index_t rows = half_rows(padded_[0]);
        const auto stored = static_cast<std::size_t>(cross_.extent()[2]);
        std::vector<float> wave_re(stored), wave_im(stored), kx(stored);
        for (index_t x = 0; x < padded_[1]; ++x) {
            const auto at = static_cast<std::size_t>(x);
            const Complex<float>& wave = waves[static_cast<std::size_t>(rows + x)];
            wave_re[at] = wave.re;
            wave_im[at] = wave.im;
            kx[at] = static_cast<float>(frequency(x, padded_[1]));
        }
        return for_each_row(rows, row_sums, [&](index_t row, double* to) {
            const Complex<float> wave = waves[static_cast<std::size_t>(row)];
            Pack<float> sums[row_sums] = {};
            for (std::size_t x = 0; x < stored; x += core::lanes<float>) {
                const Pack<float> c_re = core::load(&cross_(row, 0, 0) + x);
                const Pack<float> c_im = core::load(&cross_(row, 1, 0) + x);
                add_row_terms(c_re * wave.re - c_im * wave.im, c_re * wave.im + c_im * wave.re,
                              core::load(wave_re.data() + x), core::load(wave_im.data() + x),
                              core::load(kx.data() + x), sums);
            }
            for (int i = 0; i < row_sums; ++i) {
                to[i] = 0;
                for (int lane = 0; lane < core::lanes<float>; ++lane) {
                    to[i] += static_cast<double>(sums[i][lane]);
                }
            }
        });
    }

    core::Extents<2> phase_peak(const std::vector<Complex<float>>& weights) {
        const auto [rows, columns] = padded_;
        core::for_each_task(
            cpu_, half_rows(rows), 0, [&, rows = rows, columns = columns](index_t row, std::byte*) {
                const index_t mirrored = row == 0 ? 0 : rows - row;
                for (index_t x = 0; x < columns; ++x) {
                    const float weight = weights[static_cast<std::size_t>(row)].re *
                                         weights[static_cast<std::size_t>(half_rows(rows) + x)].re;
                    const Complex<float> term =
                        phase_term({cross_(row, 0, x), cross_(row, 1, x)}, weight);
                    z_(row, x) = term;
                    if (mirrored != row) {
                        z_(mirrored, x == 0 ? 0 : columns - x) = {term.re, -term.im};
                    }
                }
            });
        core::for_each_task(cpu_, z_.extent()[0] / at_once, 0, [&](index_t task, std::byte*) {
            rows_.run(numbers(task * at_once, 0));
        });
        transform_columns();
        core::Extents<2> peak{0, 0};
        for (index_t row = 0; row < rows; ++row) {
            for (index_t x = 0; x < columns; ++x) {
                if (z_(row, x).re > z_(peak[0], peak[1]).re) peak = {row, x};
            }
        }
        return peak;
    }

    void polar_sizes(core::View<float, 2, Host> of_a, core::View<float, 2, Host> of_b) {
        core::for_each_task(cpu_, polar_angles, 0, [&](index_t angle, std::byte*) {
            for (int radius = 0; radius < polar_radii; ++radius) {
                polar_size([&](int row, int column) { return z_(row, column); },
                           static_cast<int>(padded_[0]), static_cast<int>(padded_[1]),
                           static_cast<int>(angle), radius, of_a(angle, radius),
                           of_b(angle, radius));
            }
        });
    }

  private:
    /// Rows or columns of one transform's plan.
    static constexpr index_t at_once = 16;
    static_assert(at_once % core::lanes<float> == 0);

    struct Tapers {
        const float *rows_a, *rows_b, *columns_a, *columns_b;
        Tapers(const core::Extents<2>& image, const OverlapTapers& tapers)
            : rows_a(tapers.weights().data()),
              rows_b(rows_a + image[0]),
              columns_a(rows_a + OverlapTapers::first_column(image)),
              columns_b(columns_a + image[1]) {}
    };

    std::complex<float>* numbers(index_t row, index_t column) {
        return reinterpret_cast<std::complex<float>*>(&z_(row, column));
    }
    void transform_columns() {
        core::for_each_task(cpu_, z_.extent()[1] / at_once, 0, [&](index_t task, std::byte*) {
            columns_.run(numbers(0, task * at_once));
        });
    }
    /// Calls work(row, its values).
    template <class Work>
    core::View<const double, 2, Host> for_each_row(index_t rows, index_t values, const Work& work) {
        values_.reshape({rows, values});
        core::for_each_task(cpu_, rows, 0,
                            [&](index_t row, std::byte*) { work(row, &values_(row, 0)); });
        return std::as_const(values_).view();
    }

    Cpu& cpu_;
    core::Extents<2> padded_;
    core::Array<Complex<float>, 2> z_;  ///< padded further to groups of rows and columns
    core::Array<float, 3> cross_;       ///< [row][re, im][column]
    core::Array<double, 2> values_;
    ForwardFft<Cpu> rows_;
    ForwardFft<Cpu> columns_;
};

template <>
void halve(Cpu& cpu, const core::View<const float, 2, Host>& from,
           const core::View<float, 2, Host>& to) {
    downsample(cpu, from, to);
}

template <>
void move(Cpu& cpu, const core::View<const float, 2, Host>& from, const PixelMap& map,
          float outside, const core::View<float, 2, Host>& to) {
    warp(cpu, from, map, outside, to);
}

PixelMap pixel_map(const Alignment& alignment, const core::Extents<2>& extent) {
    const double cy = 0.5 * static_cast<double>(extent[0] - 1);
    const double cx = 0.5 * static_cast<double>(extent[1] - 1);
    const double angle = alignment.rotation * std::numbers::pi / 180;
    const double along = alignment.scale * std::cos(angle);
    const double across = alignment.scale * std::sin(angle);
    return {{{along, -across, cy + alignment.dy - along * cy + across * cx},
             {across, along, cx + alignment.dx - across * cy - along * cx},
             {0, 0, 1}}};
}

template class Registration<Cpu>;

}  // namespace aperture::signal
