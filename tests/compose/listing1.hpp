// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace aperture::compose {

/// Listing 1 of Fousek et al.: ||A B c|| (D E + D).
inline constexpr const char* listing1 = R"(program listing1 {
    input A: batch f32[1001, 3, 3];
    input B: batch f32[1001, 3, 3];
    input c: batch f32[1001, 3];
    input D: batch f32[1001, 5, 5];
    input E: batch f32[1001, 5, 5];
    local M1: batch f32[1001, 3, 3];
    local v1: batch f32[1001, 3];
    local s1: batch f32[1001, 1];
    local M2: batch f32[1001, 5, 5];
    local M3: batch f32[1001, 5, 5];
    local F: batch f32[1001, 5, 5];
    M1 = matrix_multiply(A, B);
    v1 = matrix_multiply(M1, c);
    s1 = norm(v1);
    M2 = matrix_multiply(D, E);
    M3 = add(M2, D);
    F = multiply(M3, s1);
    return F;
}
)";

}  // namespace aperture::compose
