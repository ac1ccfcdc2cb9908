// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Plans the ten sequences of BLAS calls of Filipovic, Madzin, Fousek & Matyska (2015), and Listing
// 1 of Fousek, Filipovic & Madzin (2011): prints the kernels of each and the bytes that they move,
// and runs BiCGK's, which reads its matrix once.
#include <array>
#include <cstdio>
#include <exception>
#include <vector>

#include "aperture/compose/build.hpp"
#include "aperture/compose/executable.hpp"

namespace core = aperture::core;
namespace compose = aperture::compose;

namespace {

using compose::Builder;
using compose::Operand;
using compose::Program;
using compose::Value;

constexpr core::index_t n = 1024;

Value matrix(Builder& program, const char* name) { return program.input<float>(name, {n, n}); }
Value vector(Builder& program, const char* name) { return program.input<float>(name, {n}); }
Value scalar(Builder& program, const char* name) { return program.input<float>(name); }
Value product(const Operand& a, const Operand& x) { return compose::call("matrix_vector", {a, x}); }
Value transposed_product(const Operand& a, const Operand& x) {
    return compose::call("transposed_matrix_vector", {a, x});
}
Value outer_product(const Operand& u, const Operand& v) {
    return compose::call("outer_product", {u, v});
}

Program bicgk() {
    Builder program("bicgk");
    auto a = matrix(program, "A");
    auto p = vector(program, "p"), r = vector(program, "r");
    return program.returns(product(a, p), transposed_product(a, r));
}
Program gemver() {
    Builder program("gemver");
    auto a = matrix(program, "A");
    auto u = vector(program, "u"), v = vector(program, "v");
    auto s = vector(program, "s"), t = vector(program, "t");
    auto y = vector(program, "y"), z = vector(program, "z");
    auto alpha = scalar(program, "alpha"), beta = scalar(program, "beta");
    auto b = a + outer_product(u, v) + outer_product(s, t);
    auto x = beta * transposed_product(b, y) + z;
    return program.returns(b, x, alpha * product(b, x));
}
Program axpydot() {
    Builder program("axpydot");
    auto w = vector(program, "w"), v = vector(program, "v"), u = vector(program, "u");
    auto z = w - scalar(program, "alpha") * v;
    return program.returns(z, dot(z, u));
}
Program atax() {
    Builder program("atax");
    auto a = matrix(program, "A");
    return program.returns(transposed_product(a, product(a, vector(program, "x"))));
}
Program vadd() {
    Builder program("vadd");
    auto w = vector(program, "w"), y = vector(program, "y"), z = vector(program, "z");
    return program.returns(w + y + z);
}
Program waxpby() {
    Builder program("waxpby");
    auto x = vector(program, "x"), y = vector(program, "y");
    return program.returns(scalar(program, "alpha") * x + scalar(program, "beta") * y);
}
Program gesummv() {
    Builder program("gesummv");
    auto a = matrix(program, "A"), b = matrix(program, "B");
    auto x = vector(program, "x");
    return program.returns(scalar(program, "alpha") * product(a, x) +
                           scalar(program, "beta") * product(b, x));
}
Program sgemvt() {
    Builder program("sgemvt");
    auto a = matrix(program, "A");
    auto y = vector(program, "y"), z = vector(program, "z");
    auto x = scalar(program, "beta") * transposed_product(a, y) + z;
    return program.returns(x, scalar(program, "alpha") * product(a, x));
}
Program sgemv() {
    Builder program("sgemv");
    auto a = matrix(program, "A");
    auto x = vector(program, "x"), y = vector(program, "y");
    return program.returns(scalar(program, "alpha") * product(a, x) + scalar(program, "beta") * y);
}
Program madd() {
    Builder program("madd");
    auto a = matrix(program, "A"), b = matrix(program, "B");
    return program.returns(a + b);
}

/// Batches are declared in a program's text: a million problems of 3 x 3 and 5 x 5 matrices.
Program listing1() {
    return compose::parse(R"(program listing1 {
        input A: batch f32[1000000, 3, 3];  input B: batch f32[1000000, 3, 3];
        input c: batch f32[1000000, 3];
        input D: batch f32[1000000, 5, 5];  input E: batch f32[1000000, 5, 5];
        local M1: batch f32[1000000, 3, 3]; local v1: batch f32[1000000, 3];
        local s1: batch f32[1000000, 1];
        local M2: batch f32[1000000, 5, 5]; local M3: batch f32[1000000, 5, 5];
        local F: batch f32[1000000, 5, 5];
        M1 = matrix_multiply(A, B);
        v1 = matrix_multiply(M1, c);
        s1 = norm(v1);
        M2 = matrix_multiply(D, E);
        M3 = add(M2, D);
        F = multiply(M3, s1);
        return F;
    })");
}

compose::Plan planned(const Program& program) {
    return plan(program, compose::Registry(), compose::Fusion::planned);
}

void run_bicgk() {
    core::Cpu cpu;
    compose::Executable<core::Cpu> executable(cpu, planned(bicgk()));
    const std::vector<float> a(n * n, 0.5F), p(n, 1), r(n, 2);
    std::vector<float> q(n), s(n);
    const std::array results{compose::argument(q.data(), {n}), compose::argument(s.data(), {n})};
    executable.run(cpu,
                   {{"A", compose::argument(a.data(), {n, n})},
                    {"p", compose::argument(p.data(), {n})},
                    {"r", compose::argument(r.data(), {n})}},
                   results);
    std::printf("A p is %.0f, A^T r is %.0f\n", q[n / 2], s[n / 2]);
}

}  // namespace

int main() {
    try {
        for (const auto make :
             {bicgk, gemver, axpydot, atax, vadd, waxpby, gesummv, sgemvt, sgemv, madd, listing1}) {
            const Program program = make();
            std::printf("%s\n%s\n", program.name.c_str(), explain(planned(program)).c_str());
        }
        run_bicgk();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
