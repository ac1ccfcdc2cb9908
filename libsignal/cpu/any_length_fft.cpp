// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libsignal/cpu/any_length_fft.hpp"

#include <cmath>
#include <numbers>
#include <utility>

#include "libsignal/fft_lengths.hpp"

namespace aperture::signal {
namespace {

using core::index_t;
using core::lanes;
using core::Pack;

/// The length of the transforms: its own, or one that holds the convolution without wrapping.
index_t supported_length(index_t length) {
    core::expects(length >= 1, "FFT of length ", length, " is not possible");
    return good_lane_fft_length(length) == length ? length : good_lane_fft_length(2 * length - 1);
}

/// exp(-j pi i^2 / n). The square is reduced first, since large angles lose their digits.
Twiddle chirp_at(index_t i, index_t length) {
    const auto turns =
        static_cast<double>(static_cast<unsigned __int128>(i) * static_cast<unsigned __int128>(i) %
                            static_cast<unsigned __int128>(2 * length));
    const double angle = -std::numbers::pi * turns / static_cast<double>(length);
    return {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))};
}

template <int... lane>
ComplexPack deinterleaved(Pack<float> a, Pack<float> b, std::integer_sequence<int, lane...>) {
    return {__builtin_shufflevector(a, b, (2 * lane)...),
            __builtin_shufflevector(a, b, (2 * lane + 1)...)};
}

template <int... lane>
void store_interleaved(float* to, const ComplexPack& value, std::integer_sequence<int, lane...>) {
    constexpr int n = lanes<float>;
    core::store(to, __builtin_shufflevector(value.re, value.im, (lane / 2 + lane % 2 * n)...));
    core::store(to + n,
                __builtin_shufflevector(value.re, value.im, ((lane + n) / 2 + lane % 2 * n)...));
}

/// Neighbouring complex numbers in the lanes of a pack.
ComplexPack load_row(const std::complex<float>* from) {
    const auto* const numbers = reinterpret_cast<const float*>(from);
    return deinterleaved(core::load(numbers), core::load(numbers + lanes<float>),
                         std::make_integer_sequence<int, lanes<float>>());
}
void store_row(std::complex<float>* to, const ComplexPack& value) {
    store_interleaved(reinterpret_cast<float*>(to), value,
                      std::make_integer_sequence<int, lanes<float>>());
}

ComplexPack* thread_scratch(index_t packs) {
    thread_local std::vector<ComplexPack> scratch;
    if (static_cast<index_t>(scratch.size()) < packs) {
        scratch.resize(static_cast<std::size_t>(packs));
    }
    return scratch.data();
}

}  // namespace

AnyLengthFft::AnyLengthFft(index_t length) : length_(length), fft_(supported_length(length)) {
    const index_t whole = fft_.length();
    if (whole == length) return;
    for (index_t i = 0; i < length; ++i) chirp_.push_back(chirp_at(i, length));
    std::vector<ComplexPack> scratch(static_cast<std::size_t>(fft_.scratch_packs()));
    filter_.resize(static_cast<std::size_t>(whole));
    // Divided by the length, since two forward transforms multiply by it.
    const float scale = 1 / static_cast<float>(whole);
    fft_.run(
        scratch.data(), whole,
        [&](index_t i) {
            const index_t distance = std::min(i, whole - i);
            if (distance >= length) return ComplexPack{};
            const Twiddle& w = chirp_[static_cast<std::size_t>(distance)];
            return ComplexPack{core::broadcast(scale * w.re), core::broadcast(-scale * w.im)};
        },
        [&](index_t k, const ComplexPack& value) {
            filter_[static_cast<std::size_t>(k)] = {value.re[0], value.im[0]};
        });
}

LaneFftBatch::LaneFftBatch(const FftBatch& batch)
    : batch_(batch), fft_((expects_possible(batch), batch.length)) {}

void LaneFftBatch::prepare_thread() const noexcept { thread_scratch(fft_.scratch_packs()); }

void LaneFftBatch::run(std::complex<float>* first) const {
    const index_t count = batch_.count;
    const index_t stride = batch_.stride;
    const index_t distance = batch_.distance;
    ComplexPack* const scratch = thread_scratch(fft_.scratch_packs());
    for (index_t t = 0; t < count; t += lanes<float>) {
        std::complex<float>* const group = first + t * distance;
        if (distance == 1 && count - t >= lanes<float>) {
            fft_.run(
                scratch, [&](index_t i) { return load_row(group + i * stride); },
                [&](index_t k, const ComplexPack& value) { store_row(group + k * stride, value); });
            continue;
        }
        const auto used = static_cast<int>(std::min<index_t>(lanes<float>, count - t));
        fft_.run(
            scratch,
            [&](index_t i) {
                ComplexPack value{};
                for (int lane = 0; lane < used; ++lane) {
                    value.re[lane] = group[lane * distance + i * stride].real();
                    value.im[lane] = group[lane * distance + i * stride].imag();
                }
                return value;
            },
            [&](index_t k, const ComplexPack& value) {
                for (int lane = 0; lane < used; ++lane) {
                    group[lane * distance + k * stride] = {value.re[lane], value.im[lane]};
                }
            });
    }
}

}  // namespace aperture::signal
