// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "bench/compose_batches.hpp"

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "aperture/dense/batch_blas.hpp"
#include "aperture/dense/batch_factor.hpp"
#include "bench/compose_program.hpp"
#include "bench/program.hpp"

namespace aperture::bench {
namespace {

using compose::Fusion;
using compose::Tier;
using core::index_t;

std::string matrices(index_t problems, index_t rows, index_t columns) {
    return core::text("batch f32[", problems, ", ", rows, ", ", columns, "]");
}

std::string product(index_t problems, index_t order) {
    const std::string type = matrices(problems, order, order);
    return core::text("program product { input A: ", type, "; input B: ", type, "; local C: ", type,
                      "; C = matrix_multiply(A, B); return C; }");
}
std::string solution(index_t problems, index_t order) {
    const std::string vectors = core::text("batch f32[", problems, ", ", order, "]");
    return core::text("program solution { input S: ", matrices(problems, order, order),
                      "; input b: ", vectors, "; local x: ", vectors,
                      "; x = solve<matrix = positive_definite>(S, b); return x; }");
}
#if APERTURE_CUDA
/// A step of Kalman's filter: state x of covariance S, measurements z = H x + noise of covariance
/// S_R.
std::string kalman_step(index_t problems, index_t order, index_t measured) {
    const auto vectors = [&](index_t rows) {
        return core::text("batch f32[", problems, ", ", rows, "]; ");
    };
    const auto declare = [&](const char* source, const char* name, index_t rows, index_t columns) {
        return core::text(source, " ", name, ": ", matrices(problems, rows, columns), "; ");
    };
    std::string text = "program kalman { input x: " + vectors(order) +
                       "input z: " + vectors(measured) + "local xp: " + vectors(order) +
                       "local y: " + vectors(measured) + "local Ky: " + vectors(order) +
                       "local xn: " + vectors(order);
    for (const char* name : {"S", "F", "S_Q"}) text += declare("input", name, order, order);
    text += declare("input", "H", measured, order) + declare("input", "S_R", measured, measured);
    for (const char* name : {"FS", "P", "KHP", "Sn"}) text += declare("local", name, order, order);
    for (const char* name : {"HP", "Kt"}) text += declare("local", name, measured, order);
    return text + declare("local", "I", measured, measured) +
           "xp = matrix_multiply(F, x); FS = matrix_multiply(F, S);"
           "P = matrix_multiply<b = transposed>(FS, F); P = add(P, S_Q);"
           "HP = matrix_multiply(H, P); I = matrix_multiply<b = transposed>(HP, H);"
           "I = add(I, S_R); Kt = solve<matrix = positive_definite>(I, HP);"
           "y = matrix_multiply(H, xp); y = subtract(z, y);"
           "Ky = matrix_multiply<a = transposed>(Kt, y); xn = add(xp, Ky);"
           "KHP = matrix_multiply<a = transposed>(Kt, HP); Sn = subtract(P, KHP);"
           "return Sn, xn; }";
}
#endif

void report(benchmark::State& state, const compose::Program& program, const ProgramData& data,
            double seconds, double bytes, float tolerance) {
    const auto problems = double(data.results.front().type.extent[0]);
    state.counters["M/s"] = problems / seconds * 1e-6;
    state.counters["bytes/problem"] = bytes / problems;
    state.counters["GB/s"] = bytes / seconds * 1e-9;
    expect_close(state, data, expected_of(program, data), tolerance);
}

void composed(benchmark::State& state, const std::string& name, const std::string& text,
              Fusion fusion, Tier tier) {
    const compose::Program program = compose::parse(text);
    ProgramData data(program);
    Composed<core::Cpu> composed(compose::plan(program, compose::Registry(), fusion), data, tier);
    const double best = measure(state, name, [&] { return composed.seconds(); });
    report(state, program, data, best, bytes_of(composed.plan()), 0);
}

/// A function of libdense that fills `data.result`, for a program of one kernel.
template <class Call>
void libdense(benchmark::State& state, const std::string& name, const std::string& text,
              const Call& call) {
    const compose::Program program = compose::parse(text);
    ProgramData data(program);
    core::Cpu cpu;
    const double best = measure(state, name, [&] { return call(cpu, data); });
    const double bytes = bytes_of(plan(program, compose::Registry(), Fusion::thesis));
    report(state, program, data, best, bytes, 1e-4F);
}
double multiply(core::Cpu& cpu, ProgramData& data, index_t problems, index_t order) {
    using core::Host;
    const core::Extents<3> extents{problems, order, order};
    const core::Stopwatch watch;
    dense::gemm<float>(cpu, dense::Op::none, dense::Op::none, 1.0F,
                       core::View<const float, 3, Host>(data.inputs.at("A").data(), extents),
                       core::View<const float, 3, Host>(data.inputs.at("B").data(), extents), 0.0F,
                       core::View<float, 3, Host>(data.result.data(), extents));
    return watch.seconds();
}
double solve(core::Cpu& cpu, ProgramData& data, std::vector<int>& info, index_t problems,
             index_t order) {
    using core::Host;
    data.result = data.inputs.at("b");
    const core::Stopwatch watch;
    dense::solve<float>(
        cpu, dense::Factorisation::cholesky,
        core::View<const float, 3, Host>(data.inputs.at("S").data(), {problems, order, order}),
        core::View<float, 3, Host>(data.result.data(), {problems, 1, order}),
        core::View<int, 1, Host>(info.data(), {problems}), core::View<float, 1, Host>());
    return watch.seconds();
}

#if APERTURE_CUDA
void composed_on_gpu(benchmark::State& state, const std::string& name, const std::string& text,
                     Fusion fusion) {
    const compose::Program program = compose::parse(text);
    ProgramData data(program);
    Composed<core::Gpu> composed(compose::plan(program, compose::Registry(), fusion), data);
    const double best = measure(state, name, [&] { return composed.seconds(); });
    composed.read_results();
    const double bytes = bytes_of(composed.plan());
    report(state, program, data, best, bytes, 0);
    state.counters["%copy"] = 1e-7 * bytes / best / composed.copy_gbs();
}
#endif

}  // namespace

std::string listing1(index_t problems) {
    const std::string small = matrices(problems, 3, 3), large = matrices(problems, 5, 5);
    const std::string vectors = core::text("batch f32[", problems, ", 3]");
    return core::text("program listing1 { input A: ", small, "; input B: ", small,
                      "; input c: ", vectors, "; input D: ", large, "; input E: ", large,
                      "; local M1: ", small, "; local v1: ", vectors, "; local s1: batch f32[",
                      problems, ", 1]; local M2: ", large, "; local M3: ", large,
                      "; local F: ", large,
                      "; M1 = matrix_multiply(A, B); v1 = matrix_multiply(M1, c); s1 = norm(v1);"
                      "M2 = matrix_multiply(D, E); M3 = add(M2, D); F = multiply(M3, s1);"
                      "return F; }");
}

void register_composed_batches() {
    const std::pair<const char*, Fusion> fusions[] = {{"fused", Fusion::thesis},
                                                      {"unfused", Fusion::none}};
    // Those of the paper's section 5, and more than caches hold.
    const std::vector<index_t> sizes =
        smoke ? std::vector<index_t>{100} : std::vector<index_t>{31744, index_t{1} << 22};
    for (const index_t problems : sizes) {
        const std::string text = listing1(problems);
        for (const auto& [word, fusion] : fusions) {
            add_measured(core::text("listing1/", word, "/", problems),
                         [=, fusion = fusion](benchmark::State& state, const std::string& name) {
                             composed(state, name, text, fusion, Tier::compiled);
                         });
        }
        add_measured(core::text("listing1/interpreted/", problems),
                     [=](benchmark::State& state, const std::string& name) {
                         composed(state, name, text, Fusion::thesis, Tier::interpreted);
                     });
    }
    for (const index_t order : {3, 5, 8, 16, 32}) {
        const index_t problems = (smoke ? 10'000 : 1'000'000) / (order * order);
        const std::string products = product(problems, order),
                          solutions = solution(problems, order);
        add_measured(core::text("batches/product/composed/", order),
                     [=](benchmark::State& state, const std::string& name) {
                         composed(state, name, products, Fusion::thesis, Tier::compiled);
                     });
        add_measured(core::text("batches/product/libdense/", order),
                     [=](benchmark::State& state, const std::string& name) {
                         libdense(state, name, products, [=](core::Cpu& cpu, ProgramData& data) {
                             return multiply(cpu, data, problems, order);
                         });
                     });
        add_measured(core::text("batches/solution/composed/", order),
                     [=](benchmark::State& state, const std::string& name) {
                         composed(state, name, solutions, Fusion::thesis, Tier::compiled);
                     });
        add_measured(core::text("batches/solution/libdense/", order),
                     [=](benchmark::State& state, const std::string& name) {
                         std::vector<int> info(std::size_t(problems), 0);
                         libdense(state, name, solutions, [&](core::Cpu& cpu, ProgramData& data) {
                             return solve(cpu, data, info, problems, order);
                         });
                     });
    }
#if APERTURE_CUDA
    if (!core::gpu_status().usable) return;
    const auto add_on_gpu = [](const std::string& row, const std::string& text, Fusion fusion) {
        add_measured("gpu/" + row, [=](benchmark::State& state, const std::string& name) {
            composed_on_gpu(state, name, text, fusion);
        });
    };
    for (const auto& [word, fusion] : fusions) {
        for (const index_t problems : sizes) {
            add_on_gpu(core::text("listing1/", word, "/", problems), listing1(problems), fusion);
        }
        add_on_gpu(core::text("batches/kalman/", word), kalman_step(smoke ? 100 : 1'000'000, 4, 2),
                   fusion);
    }
    for (const index_t order : {3, 4, 5, 8, 16, 32}) {
        const index_t problems = (smoke ? 10'000 : 40'000'000) / (order * order);
        add_on_gpu(core::text("batches/product/composed/", order), product(problems, order),
                   Fusion::thesis);
        add_on_gpu(core::text("batches/solution/composed/", order), solution(problems, order),
                   Fusion::thesis);
    }
#endif
}

}  // namespace aperture::bench
