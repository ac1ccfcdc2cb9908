// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Regions of connected pixels of masks on a device. Runs of pixels in rows are joined with those of
// the row above by a union-find in global memory, whose parents only decrease (Jaiganesh &
// Burtscher 2018).

#include "librpca/gpu/bit_masks.cuh"

namespace aperture::rpca::gpu {

/// What is summed over a region's pixels.
enum class RegionWeight {
    area,
    edge,    ///< whether pixels are at the picture's edge
    chosen,  ///< whether pixels are in another mask
};

/// What the kernels of regions share. A run is known by half of its first column.
struct Regions {
    BitMasks pixels;
    unsigned inverted;  ///< all bits, for regions of pixels that are 0; else none
    bool corners;       ///< whether pixels that touch at corners are connected
    int* parents;       ///< of runs: [frame][row][row_runs]; a root has itself
    int* weights;       ///< likewise, of regions at their roots

    APERTURE_HD int run_at(int row, int column) const {
        return row * pixels.row_runs() + column / 2;
    }
    /// The places of a frame.
    APERTURE_HD int* of_frame(int* places, int frame) const {
        return places + index_t{frame} * run_at(pixels.rows, 0);
    }
    /// The word of a row with bits of pixels that are in regions.
    APERTURE_HD unsigned word(const unsigned* row, int w) const {
        const int columns = pixels.columns - w * word_pixels;
        const unsigned there = columns < word_pixels ? (1U << columns) - 1 : ~0U;
        return (row[w] ^ inverted) & there;
    }
    /// The run with the pixel of bit `bit` of word w.
    __device__ __forceinline__ int run_of(const unsigned* words, int row, int w, int bit) const {
        unsigned gaps = ~word(words, w) & ((1U << bit) - 1);
        while (gaps == 0 && w > 0) gaps = ~word(words, --w);
        const int begin = gaps == 0 ? 0 : word_pixels - __clz(static_cast<int>(gaps));
        return run_at(row, w * word_pixels + begin);
    }
};

/// Calls visit(part) for each run of set bits of a word.
template <class Visit>
__device__ __forceinline__ void for_each_part(unsigned word, const Visit& visit) {
    while (word != 0) {
        const unsigned part = word & ~(word + (word & (0U - word)));
        visit(part);
        word ^= part;
    }
}
__device__ __forceinline__ int first_bit(unsigned part) {
    return __ffs(static_cast<int>(part)) - 1;
}

/// The root of a run's region. Others may join regions meanwhile, or shorten ways to roots, as this
/// does.
__device__ __forceinline__ int root_of(volatile int* parents, int run) {
    int parent = parents[run];
    while (parent != run) {
        const int next = parents[parent];
        if (next != parent) parents[run] = next;
        run = parent;
        parent = next;
    }
    return run;
}

/// Joins the regions of two runs.
__device__ __forceinline__ void join(int* parents, int one, int other) {
    for (;;) {
        one = root_of(parents, one);
        other = root_of(parents, other);
        if (one == other) return;
        const int later = max(one, other);
        if (atomicCAS(&parents[later], later, min(one, other)) == later) return;
    }
}

/// Makes each run a region of weight 0. A thread: the parts of runs in a word, of which those that
/// do not begin there have places that nothing else uses.
inline __global__ void __launch_bounds__(word_threads) begin_regions_kernel(Regions regions) {
    at_own_word(regions.pixels, [&](const WordPlace& place) {
        const unsigned* const row = regions.pixels.row(place.frame, place.row);
        for_each_part(regions.word(row, place.word), [&](unsigned part) {
            const int run = regions.run_at(place.row, place.word * word_pixels + first_bit(part));
            regions.of_frame(regions.parents, place.frame)[run] = run;
            regions.of_frame(regions.weights, place.frame)[run] = 0;
        });
    });
}

/// Joins runs with those above. A thread: the parts of runs in a word.
inline __global__ void __launch_bounds__(word_threads) join_regions_kernel(Regions regions) {
    at_own_word(regions.pixels, [&](const WordPlace& place) {
        if (place.row == 0) return;
        const int w = place.word;
        const unsigned* const row = regions.pixels.row(place.frame, place.row);
        const unsigned* const above = regions.pixels.row(place.frame, place.row - 1);
        int* const parents = regions.of_frame(regions.parents, place.frame);
        const unsigned own = regions.word(row, w);
        if (own == 0) return;
        const unsigned upper = regions.word(above, w);
        const unsigned last_before = w > 0 ? regions.word(row, w - 1) >> 31 : 0;
        const unsigned upper_before = w > 0 ? regions.word(above, w - 1) >> 31 : 0;
        const bool is_last = w + 1 == regions.pixels.row_words();
        const unsigned upper_behind =
            regions.corners && !is_last ? regions.word(above, w + 1) & 1U : 0;
        for_each_part(own, [&](unsigned part) {
            const int run = regions.run_of(row, place.row, w, first_bit(part));
            const unsigned touched = regions.corners ? part | part << 1 | part >> 1 : part;
            for_each_part(upper, [&](unsigned other) {
                if ((touched & other) == 0) return;
                // The word before has joined the two already.
                if ((part & other & last_before & upper_before) != 0) return;
                join(parents, run, regions.run_of(above, place.row - 1, w, first_bit(other)));
            });
            if (regions.corners && (part & upper_before & ~upper & ~last_before & 1U) != 0) {
                join(parents, run, regions.run_of(above, place.row - 1, w - 1, 31));
            }
            if ((part >> 31 & upper_behind) != 0) {
                join(parents, run, regions.run_of(above, place.row - 1, w + 1, 0));
            }
        });
    });
}

/// Sums weights at the roots, up to `least`. A thread: the parts of runs in a word.
inline __global__ void __launch_bounds__(word_threads)
    weigh_regions_kernel(Regions regions, RegionWeight kind, BitMasks chosen, int least) {
    at_own_word(regions.pixels, [&](const WordPlace& place) {
        const BitMasks& pixels = regions.pixels;
        const unsigned* const row = pixels.row(place.frame, place.row);
        const unsigned own = regions.word(row, place.word);
        unsigned counted = own;
        if (kind == RegionWeight::chosen) counted = chosen.at(place);
        if (kind == RegionWeight::edge && place.row > 0 && place.row < pixels.rows - 1) {
            const int last = pixels.columns - 1 - place.word * word_pixels;
            counted = (place.word == 0 ? 1U : 0U) | (last < word_pixels ? 1U << last : 0U);
        }
        for_each_part(own, [&](unsigned part) {
            const int weight = __popc(part & counted);
            if (weight == 0) return;
            int* const parents = regions.of_frame(regions.parents, place.frame);
            int* const weights = regions.of_frame(regions.weights, place.frame);
            const int run = regions.run_of(row, place.row, place.word, first_bit(part));
            const int root = root_of(parents, run);
            if (*static_cast<volatile int*>(weights + root) < least) {
                atomicAdd(weights + root, weight);
            }
        });
    });
}

/// Inverts the pixels of regions with a weight below `least`. A thread: a word.
inline __global__ void __launch_bounds__(word_threads)
    keep_regions_kernel(Regions regions, int least, BitMasks to) {
    at_own_word(regions.pixels, [&](const WordPlace& place) {
        const unsigned* const row = regions.pixels.row(place.frame, place.row);
        unsigned word = row[place.word];
        for_each_part(regions.word(row, place.word), [&](unsigned part) {
            int* const parents = regions.of_frame(regions.parents, place.frame);
            const int run = regions.run_of(row, place.row, place.word, first_bit(part));
            const int* const weights = regions.of_frame(regions.weights, place.frame);
            if (weights[root_of(parents, run)] < least) word ^= part;
        });
        to.at(place) = word;
    });
}

}  // namespace aperture::rpca::gpu
