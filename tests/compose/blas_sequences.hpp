// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <regex>
#include <string>
#include <utility>

#include "aperture/compose/program.hpp"
#include "aperture/core/error.hpp"

namespace aperture::compose {

/// A sequence of BLAS calls of Filipovic, Madzin, Fousek & Matyska 2015 as an array program.
struct BlasSequence {
    const char* name;
    /// Matrices are n x n, vectors have n numbers, or as many as a matrix where there are none.
    const char* text;
    /// What must be loaded or stored: a matrix whenever a product needs all of another one's
    /// result, all else once.
    double least_matrices, least_vectors;
    int kernels;  ///< of which calls in a row need no more
};

inline constexpr BlasSequence blas_sequences[] = {
    {"bicgk",  // q = A p, s = A^T r
     "input A: matrix; input p: vector; input r: vector; local q: vector; local s: vector;"
     "q = matrix_vector(A, p); s = transposed_matrix_vector(A, r); return q, s;",
     1, 4, 1},
    {"gemver",  // B = A + u v^T + s t^T, x = b B^T y + z, w = a B x
     "input A: matrix; input u: vector; input v: vector; input s: vector; input t: vector;"
     "input y: vector; input z: vector; input a: scalar; input b: scalar; local B: matrix;"
     "local C: matrix; local x: vector; local w: vector;"
     "C = outer_product(u, v); B = add(A, C); C = outer_product(s, t); B = add(B, C);"
     "x = transposed_matrix_vector(B, y); x = multiply(b, x); x = add(x, z);"
     "w = matrix_vector(B, x); w = multiply(a, w); return B, x, w;",
     3, 8, 2},
    {"axpydot",  // z = w - a v, r = z . u
     "input w: vector; input v: vector; input u: vector; input a: scalar; local z: vector;"
     "local r: scalar;"
     "z = multiply(a, v); z = subtract(w, z); r = dot(z, u); return z, r;",
     0, 4, 1},
    {"atax",  // y = A^T A x
     "input A: matrix; input x: vector; local t: vector; local y: vector;"
     "t = matrix_vector(A, x); y = transposed_matrix_vector(A, t); return y;",
     1, 2, 1},
    {"vadd",  // x = w + y + z
     "input w: vector; input y: vector; input z: vector; local x: vector;"
     "x = add(w, y); x = add(x, z); return x;",
     0, 4, 1},
    {"waxpby",  // w = a x + b y
     "input x: vector; input y: vector; input a: scalar; input b: scalar; local t: vector;"
     "local w: vector;"
     "w = multiply(a, x); t = multiply(b, y); w = add(w, t); return w;",
     0, 3, 1},
    {"gesummv",  // y = a A x + b B x
     "input A: matrix; input B: matrix; input x: vector; input a: scalar; input b: scalar;"
     "local t: vector; local y: vector;"
     "y = matrix_vector(A, x); t = matrix_vector(B, x); y = multiply(a, y); t = multiply(b, t);"
     "y = add(y, t); return y;",
     2, 2, 1},
    {"sgemvt",  // x = b A^T y + z, w = a A x
     "input A: matrix; input y: vector; input z: vector; input a: scalar; input b: scalar;"
     "local x: vector; local w: vector;"
     "x = transposed_matrix_vector(A, y); x = multiply(b, x); x = add(x, z);"
     "w = matrix_vector(A, x); w = multiply(a, w); return x, w;",
     2, 4, 2},
    {"sgemv",  // z = a A x + b y
     "input A: matrix; input x: vector; input y: vector; input a: scalar; input b: scalar;"
     "local t: vector; local z: vector;"
     "z = matrix_vector(A, x); z = multiply(a, z); t = multiply(b, y); z = add(z, t); return z;",
     1, 3, 1},
    {"madd",  // C = A + B
     "input A: matrix; input B: matrix; local C: matrix; C = add(A, B); return C;", 3, 0, 1},
};

inline bool is_of_vectors(const BlasSequence& sequence) { return sequence.least_matrices == 0; }

inline std::string text_of(const BlasSequence& sequence, index_t order) {
    const index_t length = is_of_vectors(sequence) ? order * order : order;
    const std::pair<const char*, std::string> types[] = {
        {": matrix;", core::text(": array f32[", order, ", ", order, "];")},
        {": vector;", core::text(": array f32[", length, "];")},
        {": scalar;", ": scalar f32;"}};
    std::string text = sequence.text;
    for (const auto& [word, type] : types) {
        text = std::regex_replace(text, std::regex(word), type);
    }
    return core::text("program ", sequence.name, " { ", text, " }");
}

}  // namespace aperture::compose
