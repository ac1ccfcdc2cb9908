// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Masks with a bit a pixel on a device, and their median.

#include "libcore/gpu/launch.cuh"
#include "librpca/mask_steps.hpp"

namespace aperture::rpca::gpu {

inline constexpr int word_pixels = 32;
static_assert(word_pixels == core::warp_size);

/// 32 consecutive pixels of a row.
struct WordPlace {
    int frame;
    int row;
    int word;
};

/// [frame][row][word], the first pixel in the lowest bit; bits behind the last column are 0.
struct BitMasks {
    unsigned* data;
    int frames;
    int rows;
    int columns;

    APERTURE_HD int row_words() const { return (columns + word_pixels - 1) / word_pixels; }
    /// Runs have a pixel between them, so that a row has no more.
    APERTURE_HD int row_runs() const { return (columns + 1) / 2; }
    APERTURE_HD unsigned words() const {
        return static_cast<unsigned>(frames) * static_cast<unsigned>(rows) *
               static_cast<unsigned>(row_words());
    }
    APERTURE_HD unsigned* row(int frame, int y) const {
        return data + (index_t{frame} * rows + y) * row_words();
    }
    APERTURE_HD unsigned& at(const WordPlace& place) const {
        return row(place.frame, place.row)[place.word];
    }
    APERTURE_HD WordPlace place(unsigned index) const {
        const unsigned row = index / static_cast<unsigned>(row_words());
        const unsigned frame = row / static_cast<unsigned>(rows);
        return {static_cast<int>(frame), static_cast<int>(row - frame * rows),
                static_cast<int>(index - row * row_words())};
    }
};

inline constexpr int word_threads = 256;

/// A thread a word.
inline core::LaunchConfig for_each_word(
    const BitMasks& masks, std::source_location call = std::source_location::current()) {
    return {dim3(core::blocks_for(masks.words(), word_threads)), dim3(word_threads), 0, call};
}
/// Calls visit(place) if the thread has a word.
template <class Visit>
__device__ __forceinline__ void at_own_word(const BitMasks& masks, const Visit& visit) {
    const unsigned index = blockIdx.x * word_threads + threadIdx.x;
    if (index < masks.words()) visit(masks.place(index));
}

/// A warp a word: a lane a pixel.
inline core::LaunchConfig for_each_pixel_of(
    const BitMasks& masks, std::source_location call = std::source_location::current()) {
    constexpr int warps = word_threads / core::warp_size;
    return {dim3(core::blocks_for(masks.words(), warps)), dim3(word_threads), 0, call};
}
/// Calls visit(place, column) in all lanes of a warp that has a word. Columns may be behind the
/// last one.
template <class Visit>
__device__ __forceinline__ void at_own_pixel(const BitMasks& masks, const Visit& visit) {
    constexpr unsigned warps = word_threads / core::warp_size;
    const unsigned index = blockIdx.x * warps + static_cast<unsigned>(core::warp_rank());
    if (index >= masks.words()) return;
    const WordPlace place = masks.place(index);
    visit(place, place.word * word_pixels + core::lane_rank());
}

/// Stores what is true in the lanes of a warp.
__device__ __forceinline__ void store_word(const BitMasks& masks, const WordPlace& place,
                                           bool moves) {
    const unsigned word = __ballot_sync(core::full_warp, moves ? 1 : 0);
    if (core::lane_rank() == 0) masks.at(place) = word;
}

/// Bits from `begin`, which may be negative, to `end` - 1, which may be beyond the last one.
__device__ __forceinline__ unsigned bits_between(int begin, int end) {
    const unsigned behind = begin > 0 ? ~0U << begin : ~0U;
    const unsigned before = end < word_pixels ? (1U << end) - 1 : ~0U;
    return behind & before;
}

/// Majorities in windows that extend `reach` pixels to all sides; `from` where a frame's `wanted`
/// is 0. A lane: a pixel. Loads of a warp are of few words; a row of the window is one or two
/// counts of bits.
inline __global__ void __launch_bounds__(word_threads)
    majority_kernel(BitMasks from, int reach, const int* wanted, BitMasks to) {
    at_own_pixel(from, [&](const WordPlace& place, int column) {
        bool moves = false;
        if (wanted != nullptr && wanted[place.frame] == 0) {
            moves = (from.at(place) >> core::lane_rank() & 1U) != 0;
        } else if (column < from.columns) {
            const int top = max(place.row - reach, 0);
            const int bottom = min(place.row + reach + 1, from.rows);
            const int left = max(column - reach, 0);
            const int right = min(column + reach + 1, from.columns);
            int count = 0;
            for (int w = left / word_pixels; w <= (right - 1) / word_pixels; ++w) {
                const int first = w * word_pixels;
                const unsigned inside = bits_between(left - first, right - first);
                const unsigned* word = from.row(place.frame, top) + w;
                for (int y = top; y < bottom; ++y, word += from.row_words()) {
                    count += __popc(*word & inside);
                }
            }
            moves = 2 * count > (bottom - top) * (right - left);
        }
        store_word(to, place, moves);
    });
}

}  // namespace aperture::rpca::gpu
