// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/compose/operation.hpp"

namespace aperture::compose {

/// A type in C++.
std::string_view cpp_type(Dtype dtype);
/// The type of bodies.cuh.
std::string_view name_of(Combination combination);
/// Throws InvalidArgument unless operand i is an array of this rank, of f32 or f64.
void expects_reals(const CallSite& site, std::size_t i, int rank = 2);

/// A number in C++, without rounding.
std::string literal(Dtype dtype, double number);

/// Arithmetic, comparisons and functions of entries in one place.
void add_pointwise(Registry& registry);
/// Stencils, and what depends on the place in an image.
void add_neighbourhoods(Registry& registry);
/// Sums, products and extremes of all entries.
void add_sums(Registry& registry);
/// Products of matrices, and of sparse ones with vectors.
void add_matrices(Registry& registry);
/// Sums of rows and columns of images, products of dense matrices and vectors.
void add_lines(Registry& registry);
/// matrix_vector(A, x) of a dense matrix.
std::unique_ptr<Operation> dense_matrix_vector();
/// Linear algebra of the small matrices and vectors of batches.
void add_blocks(Registry& registry);
/// Filters of images and transforms, by functions of libsignal.
void add_filters(Registry& registry);
/// dot(x, y) of each problem's vectors.
std::unique_ptr<Operation> dot_of_batches();
/// Throws InvalidArgument if problems of a batch have no numbers, or too many.
void expect_problems(const Type& batch);

}  // namespace aperture::compose
