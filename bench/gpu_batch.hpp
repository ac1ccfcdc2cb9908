// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <utility>

#include "bench/batch_problem.hpp"
#include "bench/gpu_ceilings.hpp"

/// Benchmarks of batches on a GPU: operands in both memories, the check of results, the time.
namespace aperture::bench {

/// As many problems as asked for or, with `bytes` of operands each, 256 MiB: far more than the
/// device's cache. 1 GiB where they are only read, since the cache keeps a part for the next call.
inline index_t gpu_problems(const BatchCase& which, double bytes) {
    if (smoke) return 37;
    if (which.problems > 0) return which.problems;
    const bool only_reads = which.task == Task::dot || which.task == Task::gemv;
    const index_t factor = only_reads ? 4 : 1;
    return std::clamp<index_t>(static_cast<index_t>(double(factor << 28) / bytes), 2000,
                               factor << 22);
}

/// A few problems in the host's memory, and a batch that repeats them in the device's.
template <class T>
class GpuBatch {
  public:
    explicit GpuBatch(const BatchCase& which)
        : host(
              {which.task, which.n, which.storage,
               which.problems > 0 ? std::min(which.problems, in_host(which.n)) : in_host(which.n)}),
          n(which.n),
          problems(gpu_problems(which, host.work.bytes)) {
        host.restore();
        repeat(host.a, a, host.storage.interleaved);
        repeat(host.b, b, host.storage.interleaved);
        repeat(host.c, c, host.storage.interleaved);
        repeat(host.x, x, false);
        repeat(host.y, y, false);
        repeat(host.sides, sides, false);
        repeat(host.results, results, false);
        repeat(host.values, values, false);
        repeat(host.info, info, false);
        // Of no exchanges, for kernels that make none.
        const int first = host.storage.pivots == Storage::exchanges_from_one ? 1 : 0;
        for (index_t p = 0; p < host.problems; ++p) {
            for (int k = 0; k < n; ++k) host.pivots(p, k) = first + k;
        }
        repeat(host.pivots, pivots, false);
        gpu.synchronize();
    }

    core::Gpu gpu;
    BatchProblem<T> host;
    const int n;
    const index_t problems;
    core::Array<T, 3, core::Device> a, b, c;
    core::Array<T, 2, core::Device> x, y;
    core::Array<T, 3, core::Device> sides;
    core::Array<T, 1, core::Device> results;
    core::Array<dense::Real<T>, 2, core::Device> values;
    core::Array<int, 1, core::Device> info;
    core::Array<int, 2, core::Device> pivots;

    core::View<const T, 3, core::Device> in_a() const { return laid_out<const T>(a); }
    core::View<const T, 3, core::Device> in_b() const { return laid_out<const T>(b); }
    core::View<T, 3, core::Device> out_c() { return laid_out<T>(c); }
    core::View<const T, 2, core::Device> in_x() const { return x.view(); }
    core::View<const T, 2, core::Device> in_y() const { return y.view(); }

    /// Restores what functions in place overwrite.
    void restore_sides() {
        copy_rows(sides.data(), sides.size(), x.data(), x.size(), sides.size(), 1);
    }
    void restore_matrices(T* matrices) {
        copy_rows(matrices, a.size(), a.data(), a.size(), a.size(), 1);
    }
    /// The worst error of the last problems of the first `computed`, as many as the host has.
    double error(index_t computed) {
        const index_t few = host.problems;
        const index_t first = (computed / few - (computed < few ? 0 : 1)) * few;
        to_host(b, host.b, first, host.storage.interleaved);
        to_host(c, host.c, first, host.storage.interleaved || host.task == Task::change_layout);
        to_host(y, host.y, first, false);
        to_host(sides, host.sides, first, false);
        to_host(results, host.results, first, false);
        to_host(values, host.values, first, false);
        to_host(pivots, host.pivots, first, false);
        gpu.synchronize();
        double worst = 0;
        for (index_t p = 0; p < std::min(few, computed); ++p) {
            const double here = host.error(p);
            if (!(here <= worst)) worst = here;
        }
        return worst;
    }

  private:
    /// Few enough to be checked at once.
    static index_t in_host(int n) {
        return std::clamp<index_t>((index_t{1} << 18) / (index_t{n} * n), 3, 61);
    }

    template <class U, class Batch>
    core::View<U, 3, core::Device> laid_out(Batch& batch) const {
        core::View<U, 3, core::Device> view(batch.data(), batch.extent());
        if (host.storage.interleaved) view.stride = {1, problems * n, problems};
        return view;
    }
    /// `rows` rows of `length`, from rows of `from_row` entries to rows of `to_row`.
    template <class U>
    void copy_rows(U* to, index_t to_row, const U* from, index_t from_row, index_t length,
                   index_t rows) {
        if (length == 0) return;
        const auto bytes = [](index_t entries) { return std::size_t(entries) * sizeof(U); };
        cudaMemcpy2DAsync(to, bytes(to_row), from, bytes(from_row), bytes(length),
                          std::size_t(rows), cudaMemcpyDefault, gpu.stream());
    }
    /// Rows of memory in which all entries of a batch's problems are neighbours.
    template <class U, int rank>
    index_t rows_of(const core::Array<U, rank>& few, bool interleaved) const {
        return interleaved ? few.size() / host.problems : 1;
    }
    template <class U, int rank>
    void repeat(const core::Array<U, rank>& few, core::Array<U, rank, core::Device>& all,
                bool interleaved) {
        if (few.size() == 0) return;
        auto extent = few.extent();
        extent[0] = problems;
        all = core::Array<U, rank, core::Device>(extent);
        const index_t rows = rows_of(few, interleaved);
        const index_t row = all.size() / rows;
        index_t filled = few.size() / rows;
        copy_rows(all.data(), row, few.data(), filled, filled, rows);
        for (; filled < row; filled *= 2) {
            copy_rows(all.data() + filled, row, std::as_const(all).data(), row,
                      std::min(filled, row - filled), rows);
        }
    }
    template <class U, int rank>
    void to_host(const core::Array<U, rank, core::Device>& all, core::Array<U, rank>& few,
                 index_t first, bool interleaved) {
        if (few.size() == 0) return;
        const index_t rows = rows_of(few, interleaved);
        const index_t length = few.size() / rows;
        copy_rows(few.data(), length, all.data() + first * (length / host.problems),
                  all.size() / rows, length, rows);
    }
};

template <class T>
using GpuCall = std::function<void(GpuBatch<T>&)>;
/// A way to compute a task. `restore`, which is not timed, comes before each call; empty where
/// operands are not overwritten.
template <class T>
struct GpuMethod {
    GpuCall<T> call;
    GpuCall<T> restore = nullptr;
};

/// Registers NAME, which measures a few times without making its operands again.
template <class Function>
void add_timed(const std::string& name, const Function& function) {
    auto* registered = benchmark::RegisterBenchmark(
        name.c_str(), [name, function](benchmark::State& state) { function(state, name); });
    registered->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(smoke ? 1 : 4);
}

/// Percent of the bound: of the fastest copy of the operands, or of the peak of multiply-adds.
template <class T>
void report_rates(benchmark::State& state, core::Gpu& gpu, const dense::Work& work,
                  index_t problems, double seconds) {
    const bool single = std::same_as<dense::Real<T>, float>;
    const double gigabytes = 1e-9 * work.bytes * double(problems);
    const double gflop = 1e-9 * work.flops * double(problems);
    const double copy = gigabytes / gpu_copy_gbs(gpu);
    const double peak = gflop / gpu_peak_gflops(gpu, single ? GpuUnit::fp32 : GpuUnit::fp64);
    state.counters["problems"] = double(problems);
    state.counters["GB/s"] = gigabytes / seconds;
    state.counters["GFLOP/s"] = gflop / seconds;
    state.counters["%copy"] = 100 * copy / seconds;
    state.counters["%bound"] = 100 * std::max(copy, peak) / seconds;
}

/// Checks results of the first `count` problems, then times the calls and reports the rates.
template <class T>
void measure_call(benchmark::State& state, const std::string& name, GpuBatch<T>& on,
                  const GpuMethod<T>& method, index_t count) {
    core::Timeline timeline;
    const auto seconds = [&](int calls, bool compute) {
        return seconds_on(on.gpu, timeline, calls, [&](std::size_t) {
            if (method.restore) method.restore(on);
            if (compute) method.call(on);
        });
    };
    seconds(1, true);
    const double error = on.error(count);
    const double limit = 30.0 * on.n * double(std::numeric_limits<dense::Real<T>>::epsilon());
    state.counters["error"] = error;
    if (!(error <= limit)) return fail(state, "the result is wrong");

    constexpr double long_call = 2e-3;
    const int calls = smoke || seconds(1, true) > long_call ? 1 : calls_in_a_row;
    const double best = measure(state, name, [&] {
        return seconds(calls, true) - (method.restore ? seconds(calls, false) : 0);
    });
    report_rates<T>(state, on.gpu, on.host.work, count, best);
}

}  // namespace aperture::bench
