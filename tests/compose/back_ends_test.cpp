// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// One program on all back ends of this machine.
#include <gmock/gmock.h>

#include <map>
#include <string>
#include <vector>

#include "tests/compose/program_memory.hpp"
#include "tests/compose/random_program.hpp"
#include "tests/compose/run_on_gpu.hpp"
#include "tests/compose/simt_executable.hpp"
#include "tests/compose/thesis_programs.hpp"
#include "tests/sanitized.hpp"
#include "tests/usable_gpu.hpp"

namespace aperture::compose {
namespace {

constexpr unsigned random_programs = tests::sanitized ? 5 : 20;

const std::map<std::string, std::string>& programs() {
    static const std::map<std::string, std::string> all{
        {"Jacobi", R"(program jacobi {
            input b: array f32[19, 300]; inout x: array f32[19, 300]; number D: f32 = 0.7;
            stencil R: f32 replicate {(0, -1): 0.1, (-1, 0): 0.3, (1, 0): 0.3, (0, 2): 0.1};
            constant n = 5; local i: iteration i64; local f: array f32[19, 300];
            local r: array f32[19, 300]; local next: array f32[19, 300];
            for i in n {
                f = stencil_product(R, x); r = subtract(b, f); next = multiply(D, r);
                x = copy(next);
            }
            return x, r;
        })"},
        {"ConjugateGradients", R"(program cg {
            input b: array f32[33, 270]; inout x: array f32[33, 270];
            stencil A: f32 zero {(0, 0): 4.1, (-1, 0): -1, (1, 0): -1, (0, -1): -1, (0, 1): -1};
            number eps: f32 = 1e-3; constant n = 50; local i: iteration i64;
            local r: array f32[33, 270]; local p: array f32[33, 270];
            local q: array f32[33, 270]; local t: array f32[33, 270];
            local rs: scalar f32; local new: scalar f32; local pq: scalar f32;
            local a: scalar f32; local be: scalar f32; local c: scalar bool;
            local last: scalar i64;
            q = stencil_product(A, x); r = subtract(b, q); p = copy(r); rs = dot(r, r);
            last = copy(n);
            for i in n {
                q = stencil_product(A, p); pq = dot(p, q); a = divide(rs, pq);
                t = multiply(a, p); x = add(x, t); q = multiply(a, q); r = subtract(r, q);
                new = dot(r, r); last = copy(i); c = less(new, eps); if c { break; }
                be = divide(new, rs); t = multiply(be, p); p = add(r, t); rs = copy(new);
            }
            return x, rs, last;
        })"},
        {"BranchesAndWhile", R"(program p {
            input v: array f64[9001]; inout w: array f64[9001]; inout s: scalar f64;
            number half: f64 = 0.5; number small: f64 = 0.01; constant n = 4;
            local i: iteration i64; local k: iteration i64; local m: array bool[9001];
            local c: scalar bool; local d: scalar bool; local q: scalar f64; local odd: scalar i64;
            local next: array f64[9001];
            q = dot(v, v); d = less(small, q);
            while d limit 100 {
                q = multiply(q, half); d = less(small, q);
                c = less(s, half);
                if c { w = add(w, q); } else { w = multiply(w, half); s = copy(half); }
            }
            for i in n {
                for k in n {
                    next = multiply(w, half); w = copy(next);
                    c = less(n, k); if c { break; }
                    c = equal(i, k); if c { w = add(w, v); break; }
                }
                m = less(w, v); w = select(m, v, w);
            }
            s = sum(w); odd = copy(k);
            return q, w, odd;
        })"},
        // A thread, groups of 8 and 32 lanes, or a block for a problem.
        {"Batches", R"(program batches {
            input A: batch f32[70, 6, 9]; input B: batch f32[70, 6, 3]; inout x: batch f32[70, 6];
            input C: batch c64[69, 3, 3]; input c: batch c64[69, 3]; input M: batch f64[70, 2, 2];
            input D: batch f64[9, 24, 24]; input d: batch f64[9, 24]; input k: scalar f64;
            input G: batch f32[33, 16, 16]; local H: batch f32[33, 16, 16];
            constant n = 3; local i: iteration i64; local two: scalar f64;
            local S: batch f32[70, 6, 6]; local L: batch f32[70, 6, 6];
            local Z: batch f32[70, 6, 3]; local y: batch f32[70, 6]; local s: batch f32[70, 1];
            local R: batch c64[69, 3, 3]; local I: batch c64[69, 3, 3]; local q: batch c64[69, 3];
            local r: batch c64[69, 3]; local Lo: batch f64[70, 2, 2]; local Up: batch f64[70, 2, 2];
            local V: batch c64[69, 3, 3]; local W: batch c64[69, 3, 3]; local p: batch f32[69, 3];
            local N: batch f64[70, 2, 2]; local E: batch f64[9, 24, 24]; local e: batch f64[9, 24];
            S = rank_k(A); L = cholesky(S); Z = solve<matrix = positive_definite>(S, B);
            for i in n { y = matrix_multiply(L, x); s = norm(y); x = divide(y, s); }
            R, q = qr(C, c); r = solve<matrix = upper>(R, q); I = inverse(C);
            V, W, p = lu<pivots = true>(C);
            two = add(k, k); N = multiply(two, M); Lo, Up = lu(N); N = matrix_multiply(Lo, Up);
            E = matrix_multiply<a = transposed, b = adjoint>(D, D); e = solve(D, d);
            H = matrix_multiply<b = transposed>(G, G);
            return x, Z, R, r, I, V, W, p, N, E, e, H, two;
        })"},
        {"Reductions", R"(program p {
            input x: array f32[9, 600]; input y: array f64[9, 600]; input a: array c64[9, 600];
            input b: array c64[9, 600]; input z: array c128[9, 600]; input i: array i64[9, 600];
            input m: array bool[9, 600]; local q: scalar f32; local r: scalar f64;
            local s: scalar f32; local t: scalar c64; local u: scalar c128; local v: scalar i64;
            local w: scalar i64; local k: scalar i64; input d: array f32[300, 40]; input e: array f32[300, 40];
            local f: scalar f32; local g: scalar f32;
            f = dot(d, e); g = largest(e); q = largest(x); r = smallest(y); s = largest_magnitude(a); t = dot(a, b); u = sum(z);
            v = sum(i); w = smallest(i); k = count(m);
            return q, r, s, t, u, v, w, k, f, g;
        })"},
        {"Matrices", R"(program p {
            input D: diagonals f32[3, 5000] at {-1, 0, 300}; input x: array f32[5000];
            input E: image_diagonals f64[3, 9, 300] at {0, -1, 301}; input z: array f64[9, 300];
            input A: array f64[300, 37]; input v: array f64[37]; local y: array f32[5000];
            local w: array f64[9, 300]; local t: array f64[300, 9]; local u: array f64[300];
            local r: array f64[300]; local B: array f64[9, 37];
            y = matrix_vector(D, x); y = add(y, x); w = matrix_vector(E, z);
            t = transposed_image(w); u = matrix_vector(A, v); r = row_sums(A); r = add(r, u);
            B = matrix_matrix(w, A);
            return y, w, t, u, r, B;
        })"},
        {"Stencils", R"(program p {
            input v: array f32[9001]; input I: array f64[33, 300]; input x: array f32[4, 9, 300];
            stencil V: f32 replicate {(-1): 0.5, (0): -1, (4097): 0.25};
            stencil R: f64 zero {(-1, 0): 0.5, (0, 260): -1, (1, -1): 0.25};
            stencil X: f32 zero {(-1, 0, 0): 0.5, (0, 1, -1): 0.25, (2, 0, 260): 2, (0, 0, 0): 1};
            stencil E: f32 replicate {(1, 0, 0): 0.5, (-1, 2, -3): 0.25, (0, 0, 7): 2};
            constant n = 3; local i: iteration i64; local w: array f32[9001];
            local J: array f64[33, 300]; local y: array f32[4, 9, 300];
            local z: array f32[4, 9, 300]; local s: scalar f32;
            w = stencil_product(V, v); w = add(w, v); J = stencil_product(R, I);
            z = copy(x);
            for i in n {
                y = stencil_product(X, z); y = subtract(x, y); s = dot(y, x);
                z = stencil_product(E, y); z = multiply(s, z);
            }
            return w, J, y, z, s;
        })"},
        // What neighbours read is made in the same kernel: with sums, on two threads, twice around
        // a place, far around it, on images smaller than a strip.
        {"Tiles", R"(program p {
            input I: array f32[130, 300]; input J: array f64[5, 9]; input K: array f64[9, 5];
            input P: array f32[40, 50]; input E: image_diagonals f32[3, 130, 300] at {-300, 0, 2};
            stencil X: f32 replicate {(0, -1): -0.5, (0, 1): 0.5};
            stencil Y: f32 zero {(-1, 0): -0.5, (1, 0): 0.5, (0, 0): 0.25};
            stencil B: f32 replicate {(-1, -2): 0.25, (0, 0): 0.5, (1, 1): 0.25};
            stencil W: f32 zero {(-2, 1): 0.5, (1, -3): 0.5};
            stencil F: f32 replicate {(-10, 1): 0.5, (5, -7): 0.25, (0, 10): 0.25};
            stencil R: f64 zero {(-1, 0): 0.5, (0, 2): -1, (1, -1): 0.25};
            input s: scalar f32; local k: scalar f32; local q: scalar f32; local l: array bool[5, 9];
            local x: array f32[130, 300]; local y: array f32[130, 300]; local m: array f32[130, 300];
            local n: array f32[130, 300]; local g: array f32[130, 300]; local h: array f32[130, 300];
            local d: array f32[130, 300]; local b: array f64[5, 9]; local a: array f64[5, 9];
            local c: array f64[5, 9]; local e: array f64[5, 9]; local f: array f64[5, 9];
            local u: array f32[40, 50]; local v: array f32[40, 50]; local w: array f32[40, 50];
            k = add(s, s); x = stencil_product(X, I); y = stencil_product(Y, I);
            m = multiply(x, x); n = multiply(y, y); m = add(m, n); m = sqrt(m); m = multiply(k, m);
            g = stencil_product(B, m); h = stencil_product(W, g); d = matrix_vector(E, g);
            q = dot(h, d); m = multiply(m, h);
            a = transposed_image(K); b = add(J, a); c = stencil_product(R, b); e = black(c);
            f = stencil_product(R, e); l = less(f, c);
            u = multiply(P, P); v = stencil_product(F, u); v = add(v, P);
            w = stencil_product(F, v);
            return q, g, d, m, f, l, w;
        })"},
        {"RowsAndColumns", R"(program p {
            inout A: array f32[70, 900]; inout B: array c64[35, 260]; input v0: array c64[260]; local C: array f32[70, 900];
            input x: array f32[900]; local p: array f32[70]; local s: array f32[900];
            local t: array f32[900]; local q: array c64[35]; local v: array c64[260];
            local D: array c64[35, 260]; local r: array f32[70]; local u: array f32[900];
            p = matrix_vector(A, x); s = transposed_matrix_vector(A, p); t = column_sums(A);
            r = row_sums(A); u = column_sums(A); C = outer_product(r, x);
            q = row_sums(B); D = outer_product(q, v0); B = add(B, D); v = column_sums(B);
            A = add(A, C); t = transposed_matrix_vector(A, p); t = subtract(t, s); r = multiply(r, p); q = conj(q);
            return p, s, t, q, v, r, u;
        })"},
        {"Functions", R"(program p {
            input a: array c64[5, 300]; input b: array c128[5, 300]; input x: array f64[5, 300];
            local c: array c64[5, 300]; local d: array c128[5, 300]; local m: array f32[5, 300];
            local r: array f64[5, 300]; local s: array f64[5, 300]; local t: array f64[5, 300];
            c = conj(a); c = divide(a, c); m = magnitude(c); d = divide(b, b); r = real(d);
            s = imag(b); d = complex(s, x); t = exp(x); s = log(t); t = rsqrt(t);
            return c, m, d, r, s, t;
        })"},
        {"Empty", R"(program p {
            input v: array f32[0, 7]; local s: scalar f32; local w: array f32[0, 7];
            w = add(v, v); s = sum(w); return s, w;
        })"},
        {"Random", RandomProgram::merged(random_programs)}};
    return all;
}

class ComposeBackEnds : public testing::TestWithParam<std::string> {
  protected:
    static std::vector<std::vector<std::byte>> on_cpu(Fusion fusion, Tier tier) {
        const Program program = parse(programs().at(GetParam()));
        ProgramMemory memory(program, 7);
        core::Cpu cpu(2);
        Executable<core::Cpu>(cpu, plan(program, Registry(), fusion, small_caches), tier)
            .run(cpu, memory.arguments(), memory.results());
        return memory.bits();
    }
};

/// All loops as one kernel each that can be.
Plan with_all_loop_kernels(Plan plan) {
    const std::vector<int> loops = possible_loop_kernels(plan);
    return with_loop_kernels(std::move(plan), loops);
}

TEST_P(ComposeBackEnds, HaveTheSameBitsWithLoopsInOneKernel) {
    const Program program = parse(programs().at(GetParam()));
    SimtExecutable executable(with_all_loop_kernels(plan(program, Registry(), Fusion::planned)));
    if (!executable.reason.empty()) GTEST_SKIP() << executable.reason;
    for (const core::LaneOrder order : {core::LaneOrder::forward, core::LaneOrder::random}) {
        ProgramMemory memory(program, 7);
        core::Simt simt(order, 5);
        executable.run(simt, memory.arguments(), memory.results());
        EXPECT_EQ(memory.bits(), on_cpu(Fusion::none, Tier::interpreted));
    }
}

TEST_P(ComposeBackEnds, HaveTheSameBits) {
    const auto expected = on_cpu(Fusion::none, Tier::interpreted);
    EXPECT_EQ(on_cpu(Fusion::thesis, Tier::interpreted), expected);
    EXPECT_EQ(on_cpu(Fusion::thesis, Tier::automatic), expected);
    EXPECT_EQ(on_cpu(Fusion::planned, Tier::interpreted), expected);
    EXPECT_EQ(on_cpu(Fusion::planned, Tier::automatic), expected);
    for (const auto& [order, fusion] : {std::pair{core::LaneOrder::forward, Fusion::planned},
                                        std::pair{core::LaneOrder::random, Fusion::thesis}}) {
        const Program program = parse(programs().at(GetParam()));
        ProgramMemory memory(program, 7);
        core::Simt simt(order, 5);
        SimtExecutable executable(plan(program, Registry(), fusion, small_caches));
        if (!executable.reason.empty()) GTEST_SKIP() << executable.reason;
        executable.run(simt, memory.arguments(), memory.results());
        EXPECT_EQ(memory.bits(), expected);
        // A second run begins anew.
        ProgramMemory again(program, 7);
        executable.run(simt, again.arguments(), again.results());
        EXPECT_EQ(again.bits(), expected);
    }
}

TEST(ComposeTiles, MakeWhatNeighboursRead) {
    const Plan made =
        plan(parse(programs().at("Tiles")), Registry(), Fusion::planned, small_caches);
    EXPECT_EQ(made.kernels().size(), 3U);
    for (const Kernel* kernel : made.kernels()) EXPECT_EQ(kernel->parts.size(), 3U);
}
#if APERTURE_CUDA
TEST_P(ComposeBackEnds, HaveTheSameBitsOnAGpu) {
    const tests::UsableGpu usable;
    if (!usable.gpu) GTEST_SKIP() << usable.why_not();
    core::Gpu gpu;
    for (const Fusion fusion : {Fusion::none, Fusion::thesis, Fusion::planned}) {
        const Program program = parse(programs().at(GetParam()));
        Executable<core::Gpu> executable(gpu, plan(program, Registry(), fusion, small_caches));
        // A second run begins anew, on other memory.
        for (int run = 0; run < 2; ++run) {
            ProgramMemory memory(program, 7);
            run_on(gpu, executable, memory);
            EXPECT_EQ(memory.bits(), on_cpu(Fusion::none, Tier::interpreted));
        }
    }
}
TEST_P(ComposeBackEnds, HaveTheSameBitsWithLoopsInOneKernelOnAGpu) {
    const tests::UsableGpu usable;
    if (!usable.gpu) GTEST_SKIP() << usable.why_not();
    core::Gpu gpu;
    const Program program = parse(programs().at(GetParam()));
    Executable<core::Gpu> executable(
        gpu, with_all_loop_kernels(plan(program, Registry(), Fusion::planned)));
    for (int run = 0; run < 2; ++run) {
        ProgramMemory memory(program, 7);
        run_on(gpu, executable, memory);
        EXPECT_EQ(memory.bits(), on_cpu(Fusion::none, Tier::interpreted));
    }
}
TEST(ComposeLoopKernels, ThatDoNotFitAGpuRunAsGraphs) {
    const tests::UsableGpu usable;
    if (!usable.gpu) GTEST_SKIP() << usable.why_not();
    core::Gpu gpu;
    // The sums of 3,750 strips are more than a block has on chip.
    const Program program = parse(
        "program p { inout x: array f32[30000, 9]; constant n = 3; local i: iteration i64;"
        "local s: scalar f32; for i in n { s = dot(x, x); x = divide(x, s); } return x; }");
    const auto bits = [&](const std::vector<int>& loops) {
        ProgramMemory memory(program, 3);
        Executable<core::Gpu> executable(
            gpu, with_loop_kernels(plan(program, Registry(), Fusion::planned), loops));
        run_on(gpu, executable, memory);
        return memory.bits();
    };
    EXPECT_EQ(bits({0}), bits({}));
}
TEST(ComposeLoopKernels, RunBetweenFunctionsOfLibrariesOnAGpu) {
    const tests::UsableGpu usable;
    if (!usable.gpu) GTEST_SKIP() << usable.why_not();
    core::Gpu gpu;
    const Program program = parse(
        "program p { inout x: array f32[70, 90]; constant n = 3; local i: iteration i64;"
        "local y: array f32[70, 90]; stencil S: f32 zero {(0, 1): 0.3, (-1, 0): 0.2};"
        "y = median(x); for i in n { x = stencil_product(S, y); y = copy(x); }"
        "x = median(y); return x, y; }");
    const auto bits = [&](const std::vector<int>& loops) {
        ProgramMemory memory(program, 3);
        Executable<core::Gpu> executable(
            gpu, with_loop_kernels(plan(program, Registry(), Fusion::planned), loops));
        for (int run = 0; run < 2; ++run) run_on(gpu, executable, memory);
        return memory.bits();
    };
    EXPECT_EQ(bits({0}), bits({}));
}
#endif
INSTANTIATE_TEST_SUITE_P(Programs, ComposeBackEnds,
                         testing::Values("Jacobi", "ConjugateGradients", "BranchesAndWhile",
                                         "Batches", "Reductions", "Functions", "Matrices",
                                         "Stencils", "Tiles", "RowsAndColumns", "Empty", "Random"),
                         [](const auto& suite) { return suite.param; });

/// Results of a plan on the SIMT host executor, for memory of seed 3; empty where nothing can run.
std::vector<std::vector<std::byte>> on_simt(const Plan& plan) {
    ProgramMemory memory(*plan.program, 3);
    core::Simt simt(core::LaneOrder::random, 4);
    SimtExecutable executable(plan);
    if (!executable.reason.empty()) return {};
    executable.run(simt, memory.arguments(), memory.results());
    return memory.bits();
}

TEST(ComposeLoopKernels, OfTheThesisHaveTheSameBits) {
    constexpr index_t rows = 37, columns = 300;
    for (const Program& program :
         {thesis::jacobi(rows, columns, 3), thesis::jacobi_flow(rows, columns, 0.25, 3),
          thesis::blockwise_flow(rows, columns, 0.25, 3),
          thesis::conjugate_gradients_flow(rows, columns, 0.25, 30, 9),
          thesis::red_black_flow(rows, columns, 0.25, 3)}) {
        const Plan made = plan(program, Registry(), Fusion::planned);
        const Plan looped = with_all_loop_kernels(made);
        EXPECT_EQ(loop_kernels(looped), std::vector{0});
        EXPECT_EQ(on_simt(looped), on_simt(with_loop_kernels(made, {})));
    }
}

TEST(ComposeLoopKernels, MayBeInOtherLoops) {
    const Plan made = plan(parse(programs().at("BranchesAndWhile")), Registry(), Fusion::planned);
    EXPECT_EQ(possible_loop_kernels(made), (std::vector{0, 1}));
    const auto expected = on_simt(with_loop_kernels(made, {}));
    EXPECT_EQ(on_simt(with_loop_kernels(made, std::vector{2})), expected);
    EXPECT_EQ(on_simt(with_loop_kernels(made, std::vector{0, 2})), expected);
}

TEST(ComposeLoopKernels, TellThatALoopDoesNotEnd) {
    const Plan made = with_all_loop_kernels(plan(
        parse("program p { inout x: array f32[9, 9]; constant n = 3; local i: iteration i64;"
              "inout c: scalar bool; input d: scalar bool; number k: f32 = 0.9;"
              "for i in n { c = or(d, c); while c limit 5 { x = multiply(k, x); c = copy(d); } }"
              "return x, c; }"),
        Registry(), Fusion::planned));
    EXPECT_EQ(loop_kernels(made), std::vector{0});
    for (const bool ends : {true, false}) {
        ProgramMemory memory(*made.program, 3);
        for (const char* name : {"c", "d"}) {
            *static_cast<bool*>(memory.arguments().at(name).data) = *name == 'c' || !ends;
        }
        core::Simt simt;
        SimtExecutable executable(made);
        if (!executable.reason.empty()) GTEST_SKIP() << executable.reason;
        const auto run = [&] { executable.run(simt, memory.arguments(), memory.results()); };
        if (ends) {
            EXPECT_NO_THROW(run());
        } else {
            EXPECT_THROW(run(), core::InvalidArgument);
        }
    }
}

}  // namespace
}  // namespace aperture::compose
