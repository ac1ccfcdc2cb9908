// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "aperture/compose/type.hpp"
#include "aperture/core/error.hpp"

/// Programs of Anderson's thesis (2014).
namespace aperture::compose {

/// Those of chapter 7, with the derivatives, and the safeguards for pixels without texture or
/// outside of the image, that libflow has.
struct FlowProgram {
    index_t rows, columns;
    int warps;
    int sweeps = 0;    ///< Horn-Schunck only
    double alpha = 0;  ///< Horn-Schunck only

    std::string image() const {
        return "array f32[" + std::to_string(rows) + ", " + std::to_string(columns) + "]";
    }
    std::string locals(std::initializer_list<const char*> names) const {
        std::string all;
        for (const char* name : names) all += std::string("local ") + name + ": " + image() + ";\n";
        return all;
    }

    /// Inputs I0 and I1, flow u and v so far, which is overwritten.
    std::string head(const std::string& name, const std::string& declarations = "") const {
        return "program " + name + " {\ninput I0: " + image() + ";\ninput I1: " + image() +
               ";\ninout u: " + image() + ";\ninout v: " + image() +
               ";\n"
               "# Half of the derivative, for the mean of two images.\n"
               "stencil Gx: f32 replicate {(0, -2): 0.041666666667, (0, -1): -0.33333333333, "
               "(0, 1): 0.33333333333, (0, 2): -0.041666666667};\n"
               "stencil Gy: f32 replicate {(-2, 0): 0.041666666667, (-1, 0): -0.33333333333, "
               "(1, 0): 0.33333333333, (2, 0): -0.041666666667};\n"
               "number zero: f32 = 0;\nnumber noise: f32 = 1e-4;\n"
               "constant warps = " +
               std::to_string(warps) + ";\nlocal w: iteration i64;\n" + "local inside: array bool" +
               image().substr(9) + ";\nlocal steep: array bool" + image().substr(9) + ";\n" +
               locals({"gx0", "gy0", "warped", "Ix", "Iy", "It", "m", "du", "dv"}) + declarations +
               "gx0 = stencil_product(Gx, I0);\ngy0 = stencil_product(Gy, I0);\n";
    }
    /// Gradients and the error of the flow so far.
    static std::string linearise() {
        return R"(warped = warp(I1, u, v);
inside = lands_inside(u, v);
It = subtract(warped, I0);
Ix = stencil_product(Gx, warped);
Ix = add(gx0, Ix);
m = abs(Ix);
steep = less(noise, m);
steep = and(steep, inside);
Ix = select(steep, Ix, zero);
Iy = stencil_product(Gy, warped);
Iy = add(gy0, Iy);
m = abs(Iy);
steep = less(noise, m);
steep = and(steep, inside);
Iy = select(steep, Iy, zero);
)";
    }

    /// Program 11, with program 13 as its solver.
    std::string horn_schunck() const {
        const std::string declarations =
            "stencil R: f32 replicate {(-1, 0): 0.25, (0, -1): 0.25, (0, 1): 0.25, (1, 0): "
            "0.25};\nnumber lam2: f32 = " +
            std::to_string(4 * alpha * alpha) + ";\nconstant sweeps = " + std::to_string(sweeps) +
            ";\nlocal i: iteration i64;\n" +
            locals({"ubar", "vbar", "num", "den", "next", "nextv"});
        return head("horn_schunck", declarations) + "for w in warps {\n" + linearise() +
               R"(du = multiply(zero, u);
dv = multiply(zero, v);
for i in sweeps {
    ubar = stencil_product(R, du);
    vbar = stencil_product(R, dv);
    num = multiply_add(Ix, ubar, It);
    num = multiply_add(Iy, vbar, num);
    den = multiply_add(Ix, Ix, lam2);
    den = multiply_add(Iy, Iy, den);
    num = divide(num, den);
    next = multiply(Ix, num);
    next = subtract(ubar, next);
    nextv = multiply(Iy, num);
    nextv = subtract(vbar, nextv);
    du = copy(next);
    dv = copy(nextv);
}
u = add(u, du);
v = add(v, dv);
}
return u, v;
}
)";
    }

    /// Program 16 as the thesis prints it, repeated: the gradients are image 1's, and are warped,
    /// too.
    std::string lucas_kanade_as_printed() const {
        return "program lucas_kanade {\ninput I1: " + image() + ";\ninput I2: " + image() +
               ";\ninout u: " + image() + ";\ninout v: " + image() +
               ";\n"
               "stencil Gx: f32 replicate {(0, -2): 0.083333333333, (0, -1): -0.66666666667, "
               "(0, 1): 0.66666666667, (0, 2): -0.083333333333};\n"
               "stencil Gy: f32 replicate {(-2, 0): 0.083333333333, (-1, 0): -0.66666666667, "
               "(1, 0): 0.66666666667, (2, 0): -0.083333333333};\n"
               "constant warps = " +
               std::to_string(warps) + ";\nlocal w: iteration i64;\n" +
               locals({"Ix", "Iy", "WarpedI2", "WarpedIx", "WarpedIy", "ErrorImg", "du", "dv"}) +
               R"(Ix = stencil_product(Gx, I2);
Iy = stencil_product(Gy, I2);
for w in warps {
    WarpedI2 = warp(I2, u, v);
    WarpedIx = warp(Ix, u, v);
    WarpedIy = warp(Iy, u, v);
    ErrorImg = subtract(I1, WarpedI2);
    du, dv = lk_least_squares(ErrorImg, WarpedIx, WarpedIy);
    u = add(u, du);
    v = add(v, dv);
}
return u, v;
}
)";
    }

    /// The same with the gradients of both images.
    std::string lucas_kanade(int window, double regularisation) const {
        return head("lucas_kanade") + "for w in warps {\n" + linearise() +
               "It = negate(It);\ndu, dv = lk_least_squares<window = " + std::to_string(window) +
               ", regularisation = " + std::to_string(regularisation) +
               ">(It, Ix, Iy);\nu = add(u, du);\nv = add(v, dv);\n}\nreturn u, v;\n}\n";
    }
};

/// Program 9 of chapter 6.
struct StapProgram {
    index_t channels, bins, cells;
    int block, taps, directions;
    std::string loading;  ///< an attribute

    index_t order() const { return channels * taps; }
    index_t problems() const { return bins * ((cells + block - 1) / block); }
    std::string attributes() const { return core::text("block = ", block, ", taps = ", taps); }
    static std::string of(Dtype dtype, Kind kind, const std::vector<index_t>& extents) {
        return text_of(type_of(kind, dtype, extents));
    }
    std::string head() const {
        return core::text(
            "program stap {\ninput cube: ", of(Dtype::c64, Kind::array, {channels, bins, cells}),
            ";\ninput steering: ", of(Dtype::c64, Kind::array, {directions, order()}),
            ";\nlocal covariance: ", of(Dtype::c64, Kind::batch, {problems(), order(), order()}),
            ";\nlocal weights: ", of(Dtype::c64, Kind::batch, {problems(), directions, order()}),
            ";\nlocal result: ", of(Dtype::c64, Kind::array, {directions, bins, cells}), ";\n");
    }

    /// As the thesis has it, with snapshots in memory.
    std::string stage_by_stage() const {
        return head() +
               core::text(
                   "local snapshots: ", of(Dtype::c64, Kind::batch, {problems(), order(), block}),
                   ";\nlocal gamma: ", of(Dtype::f32, Kind::array, {problems(), directions}),
                   ";\nsnapshots = extract_snapshots<", attributes(),
                   ">(cube);\ncovariance = outer_products<", loading,
                   ">(snapshots);\nweights = solve_weights(covariance, steering);\n"
                   "gamma = gamma_weights(weights, steering);\n"
                   "result = inner_products<bins = ",
                   bins, ", cells = ", cells, ">(snapshots, weights, gamma);\nreturn result;\n}\n");
    }
    /// In one pass.
    std::string in_one_pass() const {
        return core::text(
            "program stap {\ninput cube: ", of(Dtype::c64, Kind::array, {channels, bins, cells}),
            ";\ninput steering: ", of(Dtype::c64, Kind::array, {directions, order()}),
            ";\nlocal result: ", of(Dtype::c64, Kind::array, {directions, bins, cells}),
            ";\nresult = adapt_cube<", attributes(), ", ", loading,
            ">(cube, steering);\nreturn result;\n}\n");
    }
    /// From the cube.
    std::string without_snapshots() const {
        return head() + core::text("covariance = estimate_covariance<", attributes(), ", ", loading,
                                   ">(cube);\nweights = solve_weights(covariance, steering);\n"
                                   "result = apply_weights<",
                                   attributes(),
                                   ">(cube, steering, weights);\n"
                                   "return result;\n}\n");
    }
};

}  // namespace aperture::compose
