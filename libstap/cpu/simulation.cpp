// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/stap/simulation.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

#include "aperture/stap/steering.hpp"
#include "libcore/cpu/worker_tasks.hpp"
#include "libstap/cpu/random_normal.hpp"

namespace aperture::stap {

using core::expects;
using std::numbers::pi;
using Complex = std::complex<double>;

PerfectSize perfect_size(std::string_view name) {
    constexpr index_t pulses = 128;
    constexpr int doppler_bins = 256;
    if (name == "small") return {{4, pulses, 512}, doppler_bins, 32};
    if (name == "medium") return {{6, pulses, 1024}, doppler_bins, 64};
    if (name == "large") return {{8, pulses, 4096}, doppler_bins, 64};
    throw core::InvalidArgument(
        core::text("PERFECT size \"", name, "\" is not small, medium or large"));
}

core::Array<cfloat, 3> perfect_cube(const CubeShape& shape) {
    core::Array<cfloat, 3> cube({shape.channels, shape.pulses, shape.range_cells});
    std::mt19937 twister(5489);
    const auto uniform = [&] {
        const auto high = static_cast<double>(twister() >> 5);
        const auto low = static_cast<double>(twister() >> 6);
        return (high * 0x1p26 + low) * 0x1p-53;
    };
    for (cfloat& sample : cube) sample = {static_cast<float>(1e6 * uniform()), 0};
    for (cfloat& sample : cube) sample.imag(static_cast<float>(1e6 * uniform()));
    return cube;
}

namespace {

double power_of_db(double db) { return std::pow(10.0, db / 10); }

void check_scene(const ClutterScene& scene) {
    const CubeShape& shape = scene.shape;
    expects(shape.domain == Domain::pulse, "a scene requires the pulse domain");
    expects(shape.channels > 0 && shape.pulses > 0 && shape.range_cells > 0,
            "empty scene: ", shape.channels, " channels, ", shape.pulses, " pulses, ",
            shape.range_cells, " range cells");
    expects(scene.patches >= 1, scene.patches, " clutter patches, expected at least 1");
    expects(std::isfinite(scene.motion_std) && scene.motion_std >= 0, "clutter motion ",
            scene.motion_std, " is not a number >= 0");
    expects(std::isfinite(scene.beta), "beta ", scene.beta, " is not a number");
    expects(!std::isnan(scene.cnr_db) && scene.cnr_db < 1000, "clutter-to-noise ratio ",
            scene.cnr_db, " dB, expected less than 1000");
    const auto check_direction = [&](double azimuth_degrees) {
        spatial_steering(1, scene.spacing_wavelengths, azimuth_degrees);
    };
    check_direction(0);  // the clutter needs the spacing, too
    for (const Target& target : scene.targets) {
        check_direction(target.azimuth_degrees);
        expects(target.range_cell >= 0 && target.range_cell < shape.range_cells,
                "target range cell ", target.range_cell, " is outside 0 .. ",
                shape.range_cells - 1);
        expects(std::abs(target.doppler) <= 0.5, "target Doppler ", target.doppler,
                " is outside -0.5 .. 0.5 cycles per pulse");
        expects(std::isfinite(target.snr_db), "target SNR ", target.snr_db, " dB is not finite");
    }
    for (const Jammer& jammer : scene.jammers) {
        check_direction(jammer.azimuth_degrees);
        expects(std::isfinite(jammer.jnr_db), "jammer-to-noise ratio ", jammer.jnr_db,
                " dB is not finite");
    }
}

/// Phase increments of a clutter patch in cycles, per element and per pulse.
struct PatchFrequencies {
    double spatial;
    double doppler;
};

std::vector<PatchFrequencies> clutter_patches(const ClutterScene& scene) {
    std::vector<PatchFrequencies> patches;
    if (power_of_db(scene.cnr_db) == 0) return patches;
    for (int i = 0; i < scene.patches; ++i) {
        const double azimuth = pi * ((i + 0.5) / scene.patches - 0.5);
        const double spatial = scene.spacing_wavelengths * std::sin(azimuth);
        patches.push_back({spatial, scene.beta * spatial});
    }
    return patches;
}

/// Correlation of a clutter patch with itself `lag` pulses later: the Fourier transform of the
/// Gaussian spectrum of intrinsic clutter motion (Ward 1994, section 2.6.2).
double motion_correlation(const ClutterScene& scene, index_t lag) {
    const double exponent = pi * scene.motion_std * static_cast<double>(lag);
    return std::exp(-2 * exponent * exponent);
}

/// Columns of a factor of a patch's pulse correlation matrix, the sum of their outer products:
/// Cholesky with diagonal pivoting, to fp64 rank. [column][pulse]
std::vector<std::vector<double>> motion_factor(const ClutterScene& scene) {
    const auto pulses = static_cast<std::size_t>(scene.shape.pulses);
    std::vector<double> left(pulses, 1.0);
    std::vector<std::vector<double>> columns;
    constexpr double negligible = 1e-13;
    while (columns.size() < pulses) {
        const double largest = *std::max_element(left.begin(), left.end());
        if (largest < negligible) break;
        // Of pivots that differ by rounding the first, so that all machines simulate one cube.
        const auto found = std::find_if(left.begin(), left.end(),
                                        [&](double pivot) { return pivot > largest * (1 - 1e-9); });
        const auto pivot = static_cast<std::size_t>(found - left.begin());
        const double root = std::sqrt(*found);
        std::vector<double> column(pulses);
        for (std::size_t p = 0; p < pulses; ++p) {
            double sum = motion_correlation(scene, index_t(p) - index_t(pivot));
            for (const std::vector<double>& known : columns) sum -= known[p] * known[pivot];
            column[p] = sum / root;
            left[p] -= column[p] * column[p];
        }
        columns.push_back(std::move(column));
    }
    return columns;
}

std::vector<Complex> tone(double cycles_per_sample, index_t samples) {
    std::vector<Complex> values;
    for (index_t i = 0; i < samples; ++i)
        values.push_back(std::polar(1.0, 2 * pi * cycles_per_sample * static_cast<double>(i)));
    return values;
}

/// Keys of a range cell's streams.
enum class Source : std::uint64_t { noise, clutter, jammer, target };

/// Draws the samples of range cells one by one; constant quantities are computed once.
class SceneDrawing {
  public:
    explicit SceneDrawing(const ClutterScene& scene)
        : scene_(scene), motion_(motion_factor(scene)) {
        const std::vector<PatchFrequencies> patches = clutter_patches(scene);
        for (const PatchFrequencies& patch : patches) {
            patch_space_.push_back(tone(patch.spatial, scene.shape.channels));
            patch_time_.push_back(tone(patch.doppler, scene.shape.pulses));
        }
        patch_amplitude_ = std::sqrt(power_of_db(scene.cnr_db) / scene.patches);
        for (const Jammer& jammer : scene.jammers)
            jammer_space_.push_back(space(jammer.azimuth_degrees));
        for (const Target& target : scene.targets)
            target_space_.push_back(space(target.azimuth_degrees));
    }

    index_t samples() const { return scene_.shape.channels * scene_.shape.pulses; }

    /// `x` is [channel][pulse], `sequence` [pulse].
    void draw(index_t cell, Complex* x, Complex* sequence) const {
        add_noise(cell, x);
        add_clutter(cell, x, sequence);
        add_jammers(cell, x, sequence);
        add_targets(cell, x, sequence);
    }

  private:
    std::vector<Complex> space(double azimuth_degrees) const {
        return spatial_steering(static_cast<int>(scene_.shape.channels), scene_.spacing_wavelengths,
                                azimuth_degrees);
    }

    cpu::NormalStream stream(Source source, index_t number) const {
        return cpu::NormalStream{scene_.seed, static_cast<std::uint64_t>(source),
                                 static_cast<std::uint64_t>(number)};
    }

    void add_noise(index_t cell, Complex* x) const {
        cpu::NormalStream random = stream(Source::noise, cell);
        for (index_t i = 0; i < samples(); ++i) x[i] = random.normal();
    }

    /// x[c][p] += space[c] sequence[p]
    void add_outer_product(const std::vector<Complex>& space_phase, const Complex* sequence,
                           Complex* x) const {
        const index_t pulses = scene_.shape.pulses;
        for (index_t c = 0; c < scene_.shape.channels; ++c) {
            const Complex phase = space_phase[static_cast<std::size_t>(c)];
            Complex* row = x + c * pulses;
            for (index_t p = 0; p < pulses; ++p)
                row[p] +=
                    Complex(phase.real() * sequence[p].real() - phase.imag() * sequence[p].imag(),
                            phase.real() * sequence[p].imag() + phase.imag() * sequence[p].real());
        }
    }

    void add_clutter(index_t cell, Complex* x, Complex* sequence) const {
        cpu::NormalStream random = stream(Source::clutter, cell);
        const index_t pulses = scene_.shape.pulses;
        for (std::size_t i = 0; i < patch_space_.size(); ++i) {
            std::fill_n(sequence, pulses, Complex(0));
            for (const std::vector<double>& column : motion_) {
                const Complex amplitude = patch_amplitude_ * random.normal();
                for (index_t p = 0; p < pulses; ++p)
                    sequence[p] += column[static_cast<std::size_t>(p)] * amplitude;
            }
            for (index_t p = 0; p < pulses; ++p)
                sequence[p] *= patch_time_[i][static_cast<std::size_t>(p)];
            add_outer_product(patch_space_[i], sequence, x);
        }
    }

    void add_jammers(index_t cell, Complex* x, Complex* sequence) const {
        cpu::NormalStream random = stream(Source::jammer, cell);
        for (std::size_t j = 0; j < jammer_space_.size(); ++j) {
            const double amplitude = std::sqrt(power_of_db(scene_.jammers[j].jnr_db));
            for (index_t p = 0; p < scene_.shape.pulses; ++p)
                sequence[p] = amplitude * random.normal();
            add_outer_product(jammer_space_[j], sequence, x);
        }
    }

    void add_targets(index_t cell, Complex* x, Complex* sequence) const {
        for (std::size_t i = 0; i < scene_.targets.size(); ++i) {
            const Target& target = scene_.targets[i];
            if (target.range_cell != cell) continue;
            cpu::NormalStream random = stream(Source::target, index_t(i));
            const double start = 2 * pi * random.uniform();
            const double amplitude = std::sqrt(power_of_db(target.snr_db));
            for (index_t p = 0; p < scene_.shape.pulses; ++p)
                sequence[p] =
                    std::polar(amplitude, start + 2 * pi * target.doppler * static_cast<double>(p));
            add_outer_product(target_space_[i], sequence, x);
        }
    }

    const ClutterScene& scene_;
    std::vector<std::vector<double>> motion_;
    std::vector<std::vector<Complex>> patch_space_, patch_time_, jammer_space_, target_space_;
    double patch_amplitude_ = 0;
};

/// The covariance of samples `channel_lag` channels and `pulse_lag` pulses apart, for all lags:
/// [channel_lag + L - 1][pulse_lag + P - 1].
core::Array<Complex, 2> covariance_of_lags(const ClutterScene& scene) {
    const index_t channels = scene.shape.channels;
    const index_t pulses = scene.shape.pulses;
    core::Array<Complex, 2> covariance({2 * channels - 1, 2 * pulses - 1});
    const std::vector<PatchFrequencies> patches = clutter_patches(scene);
    const double patch_power = power_of_db(scene.cnr_db) / scene.patches;
    for (index_t c = 1 - channels; c < channels; ++c)
        for (index_t p = 1 - pulses; p < pulses; ++p) {
            Complex sum = 0;
            for (const PatchFrequencies& patch : patches)
                sum += std::polar(patch_power, 2 * pi *
                                                   (patch.spatial * static_cast<double>(c) +
                                                    patch.doppler * static_cast<double>(p)));
            sum *= motion_correlation(scene, p);
            for (const Jammer& jammer : scene.jammers)
                if (p == 0)
                    sum += std::polar(power_of_db(jammer.jnr_db),
                                      2 * pi * scene.spacing_wavelengths * static_cast<double>(c) *
                                          std::sin(jammer.azimuth_degrees * pi / 180));
            if (c == 0 && p == 0) sum += 1;
            covariance(c + channels - 1, p + pulses - 1) = sum;
        }
    return covariance;
}

}  // namespace

core::Array<cfloat, 3> simulate(core::Cpu& cpu, const ClutterScene& scene) {
    check_scene(scene);
    const SceneDrawing drawing(scene);
    const index_t pulses = scene.shape.pulses;
    core::Array<cfloat, 3> cube({scene.shape.channels, pulses, scene.shape.range_cells});
    const std::size_t bytes =
        static_cast<std::size_t>(drawing.samples() + pulses) * sizeof(Complex);
    core::for_each_task(cpu, scene.shape.range_cells, bytes, [&](index_t cell, std::byte* scratch) {
        auto* x = reinterpret_cast<Complex*>(scratch);
        drawing.draw(cell, x, x + drawing.samples());
        for (index_t c = 0; c < scene.shape.channels; ++c)
            for (index_t p = 0; p < pulses; ++p) cube(c, p, cell) = cfloat(x[c * pulses + p]);
    });
    return cube;
}

core::Array<Complex, 2> true_covariance(const ClutterScene& scene) {
    check_scene(scene);
    const index_t channels = scene.shape.channels;
    const index_t pulses = scene.shape.pulses;
    const core::Array<Complex, 2> of_lags = covariance_of_lags(scene);
    core::Array<Complex, 2> covariance({channels * pulses, channels * pulses});
    for (index_t i = 0; i < channels * pulses; ++i)
        for (index_t j = 0; j < channels * pulses; ++j)
            covariance(i, j) = of_lags(i / pulses - j / pulses + channels - 1,
                                       i % pulses - j % pulses + pulses - 1);
    return covariance;
}

}  // namespace aperture::stap
