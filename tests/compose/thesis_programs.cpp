// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/compose/thesis_programs.hpp"

#include "aperture/compose/build.hpp"

namespace aperture::compose::thesis {
namespace {

/// The matrix that has the weight for each of the four neighbours.
Value four_neighbours(Builder& program, double weight) {
    return program.stencil<float>(
        "R", Border::replicate,
        {{{-1, 0}, weight}, {{0, -1}, weight}, {{0, 1}, weight}, {{1, 0}, weight}});
}

}  // namespace

Program jacobi(index_t rows, index_t columns, int sweeps) {
    Builder program("jacobi");
    auto d = program.input<float>("D");
    auto neighbours = four_neighbours(program, -1);
    auto b = program.input<float>("b", {rows, columns});
    auto x = program.in_place<float>("x", {rows, columns});
    program.loop(sweeps, [&] {
        auto r = b - neighbours * x;
        x = d * r;
    });
    return program.returns(x);
}

Program jacobi_flow(index_t rows, index_t columns, double lambda2, int sweeps) {
    Builder program("jacobi_flow");
    auto ix = program.input<float>("Ix", {rows, columns});
    auto iy = program.input<float>("Iy", {rows, columns});
    auto it = program.input<float>("It", {rows, columns});
    auto du = program.in_place<float>("du", {rows, columns});
    auto dv = program.in_place<float>("dv", {rows, columns});
    auto neighbours = four_neighbours(program, -lambda2);
    const double lam4 = 4 * lambda2;

    auto ixiy = program.name("IxIy", ix * iy);
    auto b0 = program.name("b0", -(ix * it));
    auto b1 = program.name("b1", -(iy * it));
    auto dinv0 = program.name("Dinv0", 1 / (lam4 + ix * ix));
    auto dinv1 = program.name("Dinv1", 1 / (lam4 + iy * iy));
    program.loop(sweeps, [&] {
        auto du_resid = b0 - (neighbours * du + ixiy * dv);
        auto dv_resid = b1 - (ixiy * du + neighbours * dv);
        du = dinv0 * du_resid;
        dv = dinv1 * dv_resid;
    });
    return program.returns(du, dv);
}

Program blockwise_flow(index_t rows, index_t columns, double lambda2, int sweeps) {
    Builder program("blockwise_flow");
    auto ix = program.input<float>("Ix", {rows, columns});
    auto iy = program.input<float>("Iy", {rows, columns});
    auto it = program.input<float>("It", {rows, columns});
    auto du = program.in_place<float>("du", {rows, columns});
    auto dv = program.in_place<float>("dv", {rows, columns});
    auto neighbours = four_neighbours(program, 0.25);
    const double lam4 = 4 * lambda2;

    program.loop(sweeps, [&] {
        auto ubar = neighbours * du;
        auto vbar = neighbours * dv;
        auto num = ix * ubar + iy * vbar + it;
        auto den = ix * ix + iy * iy + lam4;
        du = ubar - (ix * num) / den;
        dv = vbar - (iy * num) / den;
    });
    return program.returns(du, dv);
}

Program conjugate_gradients_flow(index_t rows, index_t columns, double lambda2, double eps,
                                 int iterations) {
    Builder program("conjugate_gradients_flow");
    auto ix = program.input<float>("Ix", {rows, columns});
    auto iy = program.input<float>("Iy", {rows, columns});
    auto it = program.input<float>("It", {rows, columns});
    auto du = program.in_place<float>("du", {rows, columns});
    auto dv = program.in_place<float>("dv", {rows, columns});
    auto laplacian = program.stencil<float>("R", Border::replicate,
                                            {{{-1, 0}, -lambda2},
                                             {{0, -1}, -lambda2},
                                             {{0, 0}, 4 * lambda2},
                                             {{0, 1}, -lambda2},
                                             {{1, 0}, -lambda2}});

    auto ix2 = program.name("Ix2", ix * ix);
    auto iy2 = program.name("Iy2", iy * iy);
    auto ixiy = program.name("IxIy", ix * iy);
    auto b0 = -(ix * it);
    auto b1 = -(iy * it);
    auto r0 = program.local("r0", b0 - (laplacian * du + ix2 * du + ixiy * dv));
    auto r1 = program.local("r1", b1 - (laplacian * dv + iy2 * dv + ixiy * du));
    auto p0 = program.local("p0", r0);
    auto p1 = program.local("p1", r1);
    auto rsold = program.local("rsold", sum(r0 * r0 + r1 * r1));
    program.loop(iterations, [&] {
        auto ap0 = program.name("Ap0", laplacian * p0 + ix2 * p0 + ixiy * p1);
        auto ap1 = program.name("Ap1", laplacian * p1 + iy2 * p1 + ixiy * p0);
        auto alpha = program.name("alpha", rsold / sum(p0 * ap0 + p1 * ap1));
        du = du + alpha * p0;
        dv = dv + alpha * p1;
        r0 = r0 - alpha * ap0;
        r1 = r1 - alpha * ap1;
        auto rsnew = program.name("rsnew", sum(r0 * r0 + r1 * r1));
        program.stop_if(rsnew < eps);
        auto beta = program.name("beta", rsnew / rsold);
        p0 = r0 + beta * p0;
        p1 = r1 + beta * p1;
        rsold = rsnew;
    });
    return program.returns(du, dv);
}

Program red_black_flow(index_t rows, index_t columns, double lambda2, int sweeps) {
    Builder program("red_black_flow");
    auto ix = program.input<float>("Ix", {rows, columns});
    auto iy = program.input<float>("Iy", {rows, columns});
    auto it = program.input<float>("It", {rows, columns});
    auto du = program.in_place<float>("du", {rows, columns});
    auto dv = program.in_place<float>("dv", {rows, columns});
    auto neighbours = four_neighbours(program, -lambda2);
    const double lam4 = 4 * lambda2;

    auto ixiy = program.name("IxIy", ix * iy);
    auto b0 = program.name("b0", -(ix * it));
    auto b1 = program.name("b1", -(iy * it));
    auto dinv0 = program.name("Dinv0", 1 / (lam4 + ix * ix));
    auto dinv1 = program.name("Dinv1", 1 / (lam4 + iy * iy));
    program.loop(sweeps, [&] {
        auto evens0 = red(dinv0 * (b0 - (neighbours * du + ixiy * dv)));
        auto evens1 = red(dinv1 * (b1 - (ixiy * du + neighbours * dv)));
        du = evens0 + black(du);
        dv = evens1 + black(dv);
        auto odds0 = black(dinv0 * (b0 - (neighbours * du + ixiy * dv)));
        auto odds1 = black(dinv1 * (b1 - (ixiy * du + neighbours * dv)));
        du = red(du) + odds0;
        dv = red(dv) + odds1;
    });
    return program.returns(du, dv);
}

}  // namespace aperture::compose::thesis
