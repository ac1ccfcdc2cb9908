// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// LU and QR factors of a matrix in the registers of a block, column by column, in the three layouts
// that Anderson 2014 compares (section 4.5, figures 4.4 to 4.6): a row or a column of the matrix in
// each thread, or both distributed cyclically. The library has panels instead
// (block_left_looking.cuh).

#include "bench/layout_shape.hpp"
#include "libcore/gpu/warp.cuh"

namespace aperture::bench {

using core::index_t;

/// Entry (i, j) of a matrix of `order_` is thread (i % rows_, j % columns_)'s. Both are powers of
/// two, and their product is a square.
template <int order_, int rows_, int columns_>
struct FactorLayout {
    static constexpr LayoutShape shape{order_, rows_, columns_};
    static constexpr int order = order_;
    static constexpr int rows = rows_;
    static constexpr int columns = columns_;
    static constexpr int threads = shape.threads();
    static constexpr int high = shape.high();
    static constexpr int wide = shape.wide();
    static constexpr int panel = shape.panel();
    static_assert(panel * panel == threads);
    static constexpr int panels = shape.panels();
    static constexpr int column = high * rows;
    static constexpr int row = wide * columns;
    static constexpr int shared_bytes = shape.shared_bytes();
};

namespace detail {

__device__ __forceinline__ long long cycles_now() {
#if defined(__CUDACC__)
    return clock64();
#else
    return 0;
#endif
}

/// Sums of cycles of each operation in the thread that stores them.
template <bool timed>
struct OperationClock {
    long long last = 0;
    long long sums[timed_operations] = {};

    __device__ __forceinline__ void begin() {
        if constexpr (timed) last = cycles_now();
    }
    __device__ __forceinline__ void end(int operation) {
        (void)operation;
        if constexpr (timed) {
            const long long now = cycles_now();
            sums[operation] += now - last;
            last = now;
        }
    }
    /// Stores the sums, and begins new ones.
    __device__ __forceinline__ void store(long long* cycles) {
        (void)cycles;
        if constexpr (timed) {
            APERTURE_UNROLL
            for (int i = 0; i < timed_operations; ++i) {
                if (core::thread_rank() == 0) cycles[i] = sums[i];
                sums[i] = 0;
            }
            last = cycles_now();
        }
    }
};

/// Where in the registers rows and columns of a panel from `first` on may be.
template <class Layout, int first>
struct PanelPlaces {
    static constexpr int least(int a, int b) { return a < b ? a : b; }
    static constexpr int i0 = first / Layout::rows;
    static constexpr int j0 = first / Layout::columns;
    static constexpr int last = first + Layout::panel - 1;
    static constexpr int i1 = least(last / Layout::rows + 1, Layout::high);
    static constexpr int j1 = least(last / Layout::columns + 1, Layout::wide);
};

/// The entries of a thread, and the memory that it shares with others.
template <class Layout>
struct LayoutFactors {
    float a[Layout::high][Layout::wide];
    int row = core::thread_rank() / Layout::columns;
    int column = core::thread_rank() % Layout::columns;
    float* l = core::shared<float>();
    float* u = l + Layout::column;
    float* partial = u + Layout::row;
    float* scalars = partial + Layout::rows * Layout::row;

    template <class Visit>
    __device__ __forceinline__ void for_each(Visit visit) {
        APERTURE_UNROLL
        for (int i = 0; i < Layout::high; ++i) {
            APERTURE_UNROLL
            for (int j = 0; j < Layout::wide; ++j) {
                if (y(i) < Layout::order && x(j) < Layout::order) {
                    visit(a[i][j], y(i) * Layout::order + x(j));
                } else {
                    a[i][j] = 0;
                }
            }
        }
    }
    __device__ __forceinline__ int y(int i) const { return i * Layout::rows + row; }
    __device__ __forceinline__ int x(int j) const { return j * Layout::columns + column; }

    template <int first, class Clock>
    __device__ __forceinline__ void eliminate(int k, Clock& clock) {
        const PanelPlaces<Layout, first> places;
        APERTURE_UNROLL
        for (int i = places.i0; i < places.i1; ++i) {
            APERTURE_UNROLL
            for (int j = places.j0; j < places.j1; ++j) {
                if (y(i) == k && x(j) == k) scalars[0] = 1 / a[i][j];
            }
        }
        __syncthreads();
        share_column<first>(k);
        APERTURE_UNROLL
        for (int i = places.i0; i < places.i1; ++i) {
            if (y(i) != k) continue;
            APERTURE_UNROLL
            for (int j = places.j0; j < Layout::wide; ++j) u[x(j)] = a[i][j];
        }
        __syncthreads();
        clock.end(0);
        update<first>(k, k + 1);
        __syncthreads();
        clock.end(2);
    }
    template <int first, class Clock>
    __device__ __forceinline__ void reflect(int k, float* tau, Clock& clock) {
        sum_squares<first>(k);
        __syncthreads();
        make_reflector<first>(k, tau);
        __syncthreads();
        share_column<first>(k);
        __syncthreads();
        clock.end(0);
        multiply<first>(k);
        clock.end(1);
        update<first>(k, k);
        __syncthreads();
        clock.end(2);
    }

  private:
    /// Factors of column k for row i: zero above row `top`.
    template <int first>
    __device__ __forceinline__ float factor(int i, int top) const {
        const bool always = i >= PanelPlaces<Layout, first>::i1;
        return always || y(i) >= top ? l[y(i)] : 0;
    }
    /// a -= l u, from row `top` on, right of column k.
    template <int first>
    __device__ __forceinline__ void update(int k, int top) {
        const PanelPlaces<Layout, first> places;
        float of_row[Layout::wide];
        APERTURE_UNROLL
        for (int j = places.j0; j < Layout::wide; ++j) {
            of_row[j] = j >= places.j1 || x(j) > k ? u[x(j)] : 0;
        }
        APERTURE_UNROLL
        for (int i = places.i0; i < Layout::high; ++i) {
            const float of_column = factor<first>(i, top);
            APERTURE_UNROLL
            for (int j = places.j0; j < Layout::wide; ++j) a[i][j] -= of_column * of_row[j];
        }
    }
    /// Scales column k below the diagonal and shares it.
    template <int first>
    __device__ __forceinline__ void share_column(int k) {
        const PanelPlaces<Layout, first> places;
        const float scale = scalars[0];
        APERTURE_UNROLL
        for (int j = places.j0; j < places.j1; ++j) {
            if (x(j) != k) continue;
            APERTURE_UNROLL
            for (int i = places.i0; i < Layout::high; ++i) {
                if (i < places.i1 && y(i) <= k) continue;
                a[i][j] *= scale;
                l[y(i)] = a[i][j];
            }
        }
    }
    template <int first>
    __device__ __forceinline__ void sum_squares(int k) {
        const PanelPlaces<Layout, first> places;
        APERTURE_UNROLL
        for (int j = places.j0; j < places.j1; ++j) {
            if (x(j) != k) continue;
            float sum = 0;
            APERTURE_UNROLL
            for (int i = places.i0; i < Layout::high; ++i) {
                if (i >= places.i1 || y(i) > k) sum += a[i][j] * a[i][j];
            }
            partial[row] = sum;
        }
    }
    /// Leaves 1 / v_k and tau in `scalars`.
    template <int first>
    __device__ __forceinline__ void make_reflector(int k, float* tau) {
        const PanelPlaces<Layout, first> places;
        APERTURE_UNROLL
        for (int i = places.i0; i < places.i1; ++i) {
            APERTURE_UNROLL
            for (int j = places.j0; j < places.j1; ++j) {
                if (y(i) != k || x(j) != k) continue;
                float squares = 0;
                APERTURE_NO_UNROLL
                for (int r = 0; r < Layout::rows; ++r) squares += partial[r];
                const float head = a[i][j];
                const float length = sqrtf(head * head + squares);
                const float beta = head > 0 ? -length : length;
                const bool zero = !(squares > 0);
                scalars[0] = zero ? 0 : 1 / (head - beta);
                scalars[1] = zero ? 0 : (beta - head) / beta;
                l[k] = 1;
                tau[k] = scalars[1];
                if (!zero) a[i][j] = beta;
            }
        }
    }
    /// u = tau v^T a, of the reflector in l.
    template <int first>
    __device__ __forceinline__ void multiply(int k) {
        const PanelPlaces<Layout, first> places;
        // Without others' terms a thread needs its own sums only.
        constexpr bool alone = Layout::rows == 1;
        float sum[Layout::wide] = {};
        APERTURE_UNROLL
        for (int i = places.i0; i < Layout::high; ++i) {
            const float of_column = factor<first>(i, k);
            APERTURE_UNROLL
            for (int j = places.j0; j < Layout::wide; ++j) sum[j] += of_column * a[i][j];
        }
        APERTURE_UNROLL
        for (int j = places.j0; j < Layout::wide; ++j) {
            (alone ? u[x(j)] : partial[row * Layout::row + x(j)]) =
                alone ? sum[j] * scalars[1] : sum[j];
        }
        if (alone) return;
        __syncthreads();
        for (int at = core::thread_rank(); at < Layout::row; at += Layout::threads) {
            float all = 0;
            APERTURE_UNROLL_BY(4)
            for (int r = 0; r < Layout::rows; ++r) all += partial[r * Layout::row + at];
            u[at] = all * scalars[1];
        }
        __syncthreads();
    }
};

/// Factors panel after panel.
template <bool qr, int panel, class Layout, class Clock>
__device__ __forceinline__ void factor_panels(LayoutFactors<Layout>& factors, float* tau,
                                              Clock& clock, long long* cycles) {
    if constexpr (panel < Layout::panels) {
        constexpr int first = panel * Layout::panel;
        APERTURE_NO_UNROLL
        for (int k = first; k < first + Layout::panel; ++k) {
            if (k >= Layout::order - 1) break;
            if constexpr (qr) {
                factors.template reflect<first>(k, tau, clock);
            } else {
                factors.template eliminate<first>(k, clock);
            }
        }
        clock.store(cycles + panel * timed_operations);
        factor_panels<qr, panel + 1>(factors, tau, clock, cycles);
    }
}

}  // namespace detail

/// A = Q R, reflectors below R and factors tau [problem][order], if `qr`, or A = L U without
/// pivoting. `from` and `to`: [problem][order][order].
///
/// Block: Layout::threads, one problem. Grid: problems on x. Shared: Layout::shared_bytes. With
/// `timed`, `cycles`[problem] has those of the load and of the store in thread 0, then those of
/// each panel's operations [Layout::panels][timed_operations].
template <class Layout, bool qr, bool timed>
__global__ void __launch_bounds__(Layout::threads)
    factor_in_layout(const float* from, float* to, float* tau, long long* cycles) {
    constexpr int n = Layout::order;
    from += index_t{blockIdx.x} * n * n;
    to += index_t{blockIdx.x} * n * n;
    tau += index_t{blockIdx.x} * n;
    if (timed) cycles += index_t{blockIdx.x} * (2 + Layout::panels * timed_operations);
    const long long begin = timed ? detail::cycles_now() : 0;
    detail::LayoutFactors<Layout> factors;
    factors.for_each([&](float& entry, int at) { entry = from[at]; });
    if (timed) {
        // Waits for all loads.
        float sum = 0;
        factors.for_each([&](float& entry, int) { sum += entry; });
        factors.partial[core::thread_rank()] = sum;
    }
    __syncthreads();
    detail::OperationClock<timed> clock;
    clock.begin();
    if (timed && core::thread_rank() == 0) cycles[0] = clock.last - begin;
    detail::factor_panels<qr, 0>(factors, tau, clock, cycles + 2);
    if (qr && core::thread_rank() == 0) tau[n - 1] = 0;
    clock.begin();
    factors.for_each([&](float& entry, int at) { to[at] = entry; });
    if (timed && core::thread_rank() == 0) cycles[1] = detail::cycles_now() - clock.last;
}

}  // namespace aperture::bench
