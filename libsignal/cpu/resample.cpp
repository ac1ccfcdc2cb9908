// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
//
// Blur, resize and their sequence are one thing: every output row and column is a weighted sum over
// a window of input rows and columns. The weights, borders included, are tabulated for each axis,
// and two passes apply them to bands of as many output rows as a pack has lanes. In the first a
// lane is an input column, in the second an output row, with the band transposed between them: so
// both passes load whole packs whatever the ratio of the extents.
#include "aperture/signal/resample.hpp"

#include <algorithm>
#include <cmath>

#include "libsignal/cpu/image.hpp"

namespace aperture::signal {
namespace {

using core::Pack;
using cpu::index_t;

constexpr int lanes = core::lanes<float>;

using Input = core::View<const float, 2, core::Host>;
using Output = core::View<float, 2, core::Host>;

enum class Sampling { none, bilinear, bicubic };

/// What happens along one axis.
struct AxisFilter {
    index_t from;
    index_t to;
    Sampling sampling;
    double sigma;  ///< of the blur before sampling

    index_t radius() const { return static_cast<index_t>(std::ceil(3 * sigma)); }
    /// Pixels before the one at or before the sampled place, and pixels in all.
    int before() const { return sampling == Sampling::bicubic ? 1 : 0; }
    int samples() const {
        return sampling == Sampling::none ? 1 : sampling == Sampling::bilinear ? 2 : 4;
    }
    /// Elements of every window: at most all that there are.
    index_t taps() const { return std::min(from, 2 * radius() + samples()); }
};

/// Window of output i: taps elements from first[i] on, all inside the input.
struct AxisWeights {
    index_t taps;
    const index_t* first;
    const float* weights;  ///< [output][tap]

    const float* of(index_t i) const { return weights + i * taps; }
};

/// Hands out consecutive parts of a block of memory, each aligned to 64 bytes; without a block it
/// only counts.
class Parts {
  public:
    explicit Parts(std::byte* block) : block_(block) {}

    template <class T>
    T* take(index_t elements) {
        T* part = block_ == nullptr ? nullptr : reinterpret_cast<T*>(block_ + bytes_);
        bytes_ += cpu::round_up(elements * index_t(sizeof(T)), 64);
        return part;
    }
    index_t bytes() const { return bytes_; }

  private:
    std::byte* block_;
    index_t bytes_ = 0;
};

void sampling_weights(Sampling sampling, double t, double (&weights)[4]) {
    switch (sampling) {
        case Sampling::none:
            weights[0] = 1;
            break;
        case Sampling::bilinear:
            weights[0] = 1 - t;
            weights[1] = t;
            break;
        case Sampling::bicubic:  // Keys 1981, equations 4 and 8 with a = -1/2
            weights[0] = ((-0.5 * t + 1) * t - 0.5) * t;
            weights[1] = (1.5 * t - 2.5) * t * t + 1;
            weights[2] = ((-1.5 * t + 2) * t + 0.5) * t;
            weights[3] = (0.5 * t - 0.5) * t * t;
            break;
    }
}

/// Half of a normalised Gaussian: kernel[0] is its middle.
void gaussian(double sigma, index_t radius, double* kernel) {
    kernel[0] = 1;
    double sum = 1;
    for (index_t k = 1; k <= radius; ++k) {
        const double distance = static_cast<double>(k) / sigma;
        kernel[k] = std::exp(-0.5 * distance * distance);
        sum += 2 * kernel[k];
    }
    for (index_t k = 0; k <= radius; ++k) kernel[k] /= sum;
}

/// Rounds so that the rounded weights sum to one: the largest takes what the others lose.
void round_weights(const double* exact, index_t taps, float* rounded) {
    const index_t largest = std::max_element(exact, exact + taps) - exact;
    double others = 0;
    for (index_t t = 0; t < taps; ++t) {
        rounded[t] = static_cast<float>(exact[t]);
        if (t != largest) others += rounded[t];
    }
    rounded[largest] = static_cast<float>(1 - others);
}

AxisWeights tabulate(const AxisFilter& axis, Parts& parts) {
    const index_t radius = axis.radius();
    const index_t taps = axis.taps();
    auto* first = parts.take<index_t>(axis.to);
    auto* weights = parts.take<float>(axis.to * taps);
    auto* kernel = parts.take<double>(radius + 1);
    auto* window = parts.take<double>(taps);
    if (first == nullptr) return {taps, first, weights};
    gaussian(axis.sigma, radius, kernel);
    const index_t last = axis.from - 1;
    for (index_t i = 0; i < axis.to; ++i) {
        const double at = (static_cast<double>(i) + 0.5) * static_cast<double>(axis.from) /
                              static_cast<double>(axis.to) -
                          0.5;
        const auto floor = static_cast<index_t>(std::floor(at));
        double sampled[4];
        sampling_weights(axis.sampling, at - static_cast<double>(floor), sampled);
        const index_t begin = floor - axis.before();
        first[i] = std::clamp<index_t>(begin - radius, 0, axis.from - taps);
        std::fill_n(window, taps, 0.0);
        for (int s = 0; s < axis.samples(); ++s) {
            const index_t pixel = std::clamp<index_t>(begin + s, 0, last);
            for (index_t k = -radius; k <= radius; ++k)
                window[std::clamp<index_t>(pixel + k, 0, last) - first[i]] +=
                    sampled[s] * kernel[std::abs(k)];
        }
        round_weights(window, taps, weights + i * taps);
    }
    return {taps, first, weights};
}

/// Where a block of packs starts that should begin at x: earlier where it would reach over the end,
/// if there is room.
index_t block_start(index_t x, index_t extent) {
    return std::max<index_t>(0, std::min(x, extent - lanes));
}

/// First pass: output rows `row` to `row` + lanes - 1 (the last one again where there are no more)
/// of all input columns, transposed to [column][output row].
void filter_rows(const Input& from, const AxisWeights& rows, index_t row, index_t last,
                 float* transposed) {
    const index_t columns = from.extent[1];
    for (index_t x = 0; x < columns; x += lanes) {
        const index_t begin = block_start(x, columns);
        const index_t count = columns - begin;
        Pack<float> square[lanes];
        for (int r = 0; r < lanes; ++r) {
            const index_t y = std::min(row + r, last);
            const float* weights = rows.of(y);
            const float* pixels = from.data + rows.first[y] * from.stride[0] + begin;
            Pack<float> sum = weights[0] * cpu::load_part(pixels, count);
            for (index_t t = 1; t < rows.taps; ++t)
                sum += weights[t] * cpu::load_part(pixels + t * from.stride[0], count);
            square[r] = sum;
        }
        cpu::transpose<float>(square);
        for (int c = 0; c < std::min<index_t>(lanes, count); ++c)
            core::store(transposed + (begin + c) * lanes, square[c]);
    }
}

/// Second pass: the first `count` rows of the band, to image rows from `to` on.
void filter_columns(const float* transposed, const AxisWeights& columns, index_t count,
                    const Output& to) {
    const index_t extent = to.extent[1];
    for (index_t x = 0; x < extent; x += lanes) {
        const index_t begin = block_start(x, extent);
        Pack<float> square[lanes];
        for (int c = 0; c < lanes; ++c) {
            const index_t column = std::min(begin + c, extent - 1);
            const float* weights = columns.of(column);
            const float* pixels = transposed + columns.first[column] * lanes;
            Pack<float> sum = weights[0] * core::load(pixels);
            for (index_t t = 1; t < columns.taps; ++t)
                sum += weights[t] * core::load(pixels + t * lanes);
            square[c] = sum;
        }
        cpu::transpose<float>(square);
        for (int r = 0; r < std::min<index_t>(lanes, count); ++r)
            cpu::store_part(to.data + r * to.stride[0] + begin, square[r], extent - begin);
    }
}

void filter(core::Cpu& executor, const Input& from, const AxisFilter& row_filter,
            const AxisFilter& column_filter, const Output& to) {
    Parts counted(nullptr);
    tabulate(row_filter, counted);
    tabulate(column_filter, counted);
    const index_t table_bytes = counted.bytes();
    const auto bytes =
        static_cast<std::size_t>(table_bytes + from.extent[1] * lanes * index_t(sizeof(float)));
    // The tables lie before the first thread's own memory, with as much left free before the
    // others'.
    Parts parts(executor.scratch(0, bytes));
    const AxisWeights rows = tabulate(row_filter, parts);
    const AxisWeights columns = tabulate(column_filter, parts);
    const index_t bands = cpu::ceil_div(to.extent[0], lanes);
    core::for_each_task(executor, bands, bytes, [&](index_t band, std::byte* scratch) {
        const index_t row = band * lanes;
        const index_t end = std::min(row + lanes, to.extent[0]);
        auto* transposed = reinterpret_cast<float*>(scratch + table_bytes);
        filter_rows(from, rows, row, to.extent[0] - 1, transposed);
        filter_columns(transposed, columns, end - row, to.slice(0, row, end));
    });
}

void check(const char* operation, const Input& from, const Output& to) {
    cpu::expects_contiguous_columns(operation, "from", from);
    cpu::expects_contiguous_columns(operation, "to", to);
    core::expects(!from.empty() || to.empty(), operation, ": an image of ", from.extent[0], " x ",
                  from.extent[1], " to one of ", to.extent[0], " x ", to.extent[1]);
}

/// Blur against aliasing along an axis.
double pyramid_sigma(index_t from, index_t to) {
    if (to >= from) return 0;
    const double ratio = static_cast<double>(from) / static_cast<double>(to);
    return 0.6 * std::sqrt(ratio * ratio - 1);
}

}  // namespace

void gaussian_blur(core::Cpu& cpu, core::View<const float, 2, core::Host> from, float sigma,
                   core::View<float, 2, core::Host> to) {
    core::expects(sigma >= 0 && sigma <= 1000, "Gaussian blur: sigma is ", sigma,
                  ", expected 0 to 1000 pixels");
    core::expects(from.extent == to.extent, "Gaussian blur: an image of ", from.extent[0], " x ",
                  from.extent[1], " to one of ", to.extent[0], " x ", to.extent[1]);
    check("Gaussian blur", from, to);
    if (to.empty()) return;
    const auto axis = [&](int d) -> AxisFilter {
        return {from.extent[d], to.extent[d], Sampling::none, sigma};
    };
    filter(cpu, from, axis(0), axis(1), to);
}

void resize(core::Cpu& cpu, core::View<const float, 2, core::Host> from,
            Interpolation interpolation, core::View<float, 2, core::Host> to) {
    check("resize", from, to);
    if (to.empty()) return;
    const Sampling sampling =
        interpolation == Interpolation::bicubic ? Sampling::bicubic : Sampling::bilinear;
    const auto axis = [&](int d) -> AxisFilter {
        return {from.extent[d], to.extent[d], sampling, 0};
    };
    filter(cpu, from, axis(0), axis(1), to);
}

void downsample(core::Cpu& cpu, core::View<const float, 2, core::Host> from,
                core::View<float, 2, core::Host> to) {
    check("downsample", from, to);
    if (to.empty()) return;
    const auto axis = [&](int d) -> AxisFilter {
        return {from.extent[d], to.extent[d], Sampling::bicubic,
                pyramid_sigma(from.extent[d], to.extent[d])};
    };
    filter(cpu, from, axis(0), axis(1), to);
}

}  // namespace aperture::signal
