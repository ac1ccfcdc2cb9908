// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// The papers' experiments with kernels of their own, which are not the library's.
#include "bench/batch_experiments_gpu.hpp"

#if APERTURE_CUDA
#include <array>
#include <complex>
#include <string>
#include <utility>
#include <vector>

#include "bench/batch_mappings.hpp"
#include "bench/block_shapes.hpp"
#include "bench/factor_layouts.hpp"
#include "bench/gpu_calls.hpp"
#include "bench/gpu_parameters.hpp"
#include "bench/solve_forms.hpp"

namespace aperture::bench {
namespace {

/// Tables I and II of Ha et al.
void add_block_shapes() {
    const auto add = [](const std::string& series, int order, double bytes, auto seconds_of) {
        add_timed("gpu/" + series + "/" + std::to_string(order),
                  [=](benchmark::State& state, const std::string& name) {
                      core::Gpu gpu;
                      const double best = measure(state, name, [&] { return seconds_of(gpu); });
                      state.counters["GB/s"] = 1e-9 * bytes / best;
                  });
    };
    for (const int threads : {64, 128, 192, 256, 512, 768, 1024}) {
        add("ha_table_1/axpy/f64", threads, axpy_bytes(),
            [=](core::Gpu& gpu) { return axpy_seconds(gpu, threads); });
    }
    for (const int in_a_row : {1, 2, 4, 8, 16, 32}) {
        add("ha_table_2/copy/f32", in_a_row, copy_bytes<float>(),
            [=](core::Gpu& gpu) { return copy_seconds<float>(gpu, in_a_row); });
        add("ha_table_2/copy/f64", in_a_row, copy_bytes<double>(),
            [=](core::Gpu& gpu) { return copy_seconds<double>(gpu, in_a_row); });
    }
}

/// Figure 4.5 of Anderson.
void add_layouts(index_t problems) {
    constexpr std::array layouts{std::pair{"rows", MatrixLayout::rows},
                                 std::pair{"columns", MatrixLayout::columns},
                                 std::pair{"cyclic", MatrixLayout::cyclic}};
    for (const Task task : {Task::lu, Task::qr}) {
        for (const auto& [name, layout] : layouts) {
            for (const int n : layout_orders) {
                const std::string full = std::string("gpu/anderson_4.5/") + name_of(task) + "@" +
                                         name + "/f32/" + std::to_string(n);
                add_timed(full, [=, which = layout](benchmark::State& state,
                                                    const std::string& its_name) {
                    GpuBatch<float> on({task, n, {}, problems});
                    measure_call<float>(state, its_name, on, {[=](GpuBatch<float>& its) {
                                            factor_in_layout(its.gpu, task == Task::qr, which, n,
                                                             its.problems, its.a.data(),
                                                             its.c.data(), its.y.data());
                                        }},
                                        on.problems);
                });
                if (smoke) break;
            }
        }
    }
}

/// Cycles of a part of a factorisation.
struct PartCycles {
    std::string part;
    double measured;
    double predicted;
};

/// Of 56 x 56 on 64 threads: load, store, and each panel's operations.
std::vector<PartCycles> part_cycles(bool qr, index_t problems) {
    GpuBatch<float> on({qr ? Task::qr : Task::lu, timed_order, {}, problems});
    // With a warm cache of instructions.
    const auto measure_once = [&] {
        return measure_step_cycles(on.gpu, qr, on.problems, on.a.data(), on.c.data(), on.y.data());
    };
    measure_once();
    const StepCycles measured = measure_once();
    const auto operation = qr ? dense::BatchOperation::qr : dense::BatchOperation::lu;
    const dense::ProblemSize size{timed_order, timed_order, 1};
    constexpr dense::ElementType element = dense::element_type<float>;
    const dense::DeviceParameters device = measure_gpu_parameters(on.gpu);
    const auto whole = dense::predict_in_block(device, operation, size, timed_threads, element,
                                               timed_blocks(on.gpu, qr), on.problems);
    std::vector<PartCycles> parts{{"load", measured.load, whole.load},
                                  {"store", measured.store, whole.store}};
    double sum = 0;
    const auto panels = static_cast<index_t>(measured.panels.size());
    for (index_t p = 0; p < panels; ++p) {
        const auto counts =
            dense::step_counts(operation, size, timed_threads, element, timed_order * p / panels,
                               timed_order * (p + 1) / panels);
        const auto& its = measured.panels[static_cast<std::size_t>(p)];
        const auto add = [&](const char* name, double cycles, const dense::BlockCounts& of) {
            sum += cycles;
            parts.push_back({name + std::string("/") + std::to_string(p + 1), cycles,
                             dense::cycles_of(device, of, timed_threads, element)});
        };
        add("column", its[0], counts.column);
        if (qr) add("product", its[1], counts.product);
        add("update", its[2], counts.update);
    }
    parts.push_back({"compute", sum, whole.compute});
    return parts;
}

/// Table 4.3 and figure 4.6 of Anderson.
void add_cycles(index_t problems) {
    for (const bool qr : {false, true}) {
        const std::string task = qr ? "qr" : "lu";
        benchmark::RegisterBenchmark(("cycles/" + task).c_str(), [=](benchmark::State& state) {
            for (auto _ : state) {
                for (const PartCycles& part : part_cycles(qr, problems)) {
                    state.counters[part.part] = part.measured;
                    state.counters[part.part + " predicted"] = part.predicted;
                }
            }
        })->Iterations(1);
    }
}

/// Figure 6.5 of Anderson.
void add_solve_forms(index_t problems) {
    for (const auto& [form_name, form] :
         {std::pair{"global", SolveForm::global}, std::pair{"local", SolveForm::local},
          std::pair{"unrolled", SolveForm::unrolled}}) {
        add_timed(std::string("gpu/anderson_6.5/gauss_jordan@") + form_name + "/c64/18",
                  [=, which = form](benchmark::State& state, const std::string& name) {
                      core::Gpu gpu;
                      FormProblems on(gpu, smoke ? 37 : problems);
                      on.solve(gpu, which);
                      const double error = on.error(gpu);
                      state.counters["error"] = error;
                      if (!(error <= 1e-5)) return fail(state, "the result is wrong");
                      core::Timeline timeline;
                      const double best = measure(state, name, [&] {
                          const auto seconds = [&](auto call) {
                              return seconds_on(gpu, timeline, calls_in_a_row, call);
                          };
                          return seconds([&](std::size_t) { on.solve(gpu, which); }) -
                                 seconds([&](std::size_t) { on.restore(gpu); });
                      });
                      const dense::Work work = dense::work_of(
                          dense::BatchOperation::gauss_jordan, {0, form_order, form_sides},
                          dense::element_type<std::complex<float>>);
                      state.counters["problems"] = double(problems);
                      state.counters["GFLOP/s"] = 1e-9 * work.flops * double(problems) / best;
                  });
    }
}

/// A mapping that is not the library's, as a function on a batch.
GpuCall<float> mapped_call(Task task, OtherMapping mapping) {
    const MappedFunction function = task == Task::gemv   ? MappedFunction::gemv
                                    : task == Task::gemm ? MappedFunction::gemm
                                                         : MappedFunction::cholesky;
    return [=](GpuBatch<float>& on) {
        run_mapped(
            on.gpu, function, mapping,
            {on.a.data(), on.b.data(), on.x.data(), on.c.data(), on.y.data(), on.n, on.problems});
    };
}
void add_mapping(const std::string& figure, const BatchCase& which, OtherMapping mapping,
                 const char* mapping_name, index_t at) {
    add_timed("gpu/" + figure + "/" + name_of(which.task) + "@" + mapping_name + "/f32/" +
                  std::to_string(at),
              [=](benchmark::State& state, const std::string& name) {
                  GpuBatch<float> on(which);
                  const GpuCall<float> restore =
                      which.task == Task::cholesky ? restore_c<float> : GpuCall<float>();
                  measure_call<float>(state, name, on, {mapped_call(which.task, mapping), restore},
                                      on.problems);
              });
}

/// Groups of threads in figures 9 to 11 of Ha et al., and walk against grid over the number of
/// problems (section III-D).
void add_mappings() {
    for (const auto& [figure, task] :
         {std::pair{"ha_9", Task::gemv}, std::pair{"ha_10", Task::gemm},
          std::pair{"ha_11", Task::cholesky}}) {
        for (const int n : {4, 8, 16, 24}) {
            add_mapping(figure, {task, n, {.interleaved = true}}, OtherMapping::interleaved_groups,
                        "interleaved_groups", n);
            if (smoke) break;
        }
    }
    constexpr int order = 512;
    for (const Task task : {Task::gemv, Task::gemm, Task::cholesky}) {
        for (const index_t problems : {1, 4, 16, 64, 256}) {
            const BatchCase which{task, smoke ? 40 : order, {}, problems};
            add_mapping("ha_walk_grid", which, OtherMapping::walk, "walk", problems);
            add_mapping("ha_walk_grid", which, OtherMapping::grid, "grid", problems);
            if (smoke) break;
        }
    }
}

}  // namespace

void register_gpu_experiments() {
    if (!core::gpu_status().usable) return;
    add_block_shapes();
    add_layouts(10'000);
    add_cycles(8'000);
    add_solve_forms(4096);
    add_mappings();
}

}  // namespace aperture::bench

#else

namespace aperture::bench {

void register_gpu_experiments() {}

}  // namespace aperture::bench

#endif
