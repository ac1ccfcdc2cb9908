// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Solves 5 x - (the sum of the four neighbours of x) = b on an image by Jacobi's method: an array
// program whose operations are put together to few kernels.
#include <array>
#include <cstdio>
#include <exception>
#include <vector>

#include "aperture/compose/build.hpp"
#include "aperture/compose/executable.hpp"

namespace core = aperture::core;
namespace compose = aperture::compose;

namespace {

void solve() {
    constexpr core::index_t rows = 480;
    constexpr core::index_t columns = 640;

    compose::Builder jacobi("jacobi");
    auto b = jacobi.input<float>("b", {rows, columns});
    auto x = jacobi.in_place<float>("x", {rows, columns});
    auto neighbours = jacobi.stencil<float>("neighbours", compose::Border::zero,
                                            {{{-1, 0}, 1}, {{0, -1}, 1}, {{0, 1}, 1}, {{1, 0}, 1}});
    auto change = jacobi.local("change", jacobi.number<float>(0));
    jacobi.loop(1000, [&] {
        auto next = 0.2 * (b + neighbours * x);
        auto step = next - x;
        x = next;
        change = dot(step, step);
        jacobi.stop_if(change < 1e-6);
    });
    const compose::Program program = jacobi.returns(change);

    core::Cpu cpu;
    compose::Executable<core::Cpu> solver(
        cpu, plan(program, compose::Registry(), compose::Fusion::thesis));
    std::printf("%s\n%s\n", print(program).c_str(), explain(solver.plan()).c_str());

    const std::vector<float> ones(rows * columns, 1);
    std::vector<float> solution(rows * columns);
    float last_change = 0;
    const compose::Argument x_memory = compose::argument(solution.data(), {rows, columns});
    const std::array results{compose::argument(&last_change, {})};
    solver.run(cpu, {{"b", compose::argument(ones.data(), {rows, columns})}, {"x", x_memory}},
               results);
    std::printf("x is %.3f in the corner and %.3f in the middle; last change %.1g\n", solution[0],
                solution[(rows + 1) * columns / 2], last_change);
}

}  // namespace

int main() {
    try {
        solve();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
