// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "aperture/dense/element_text.hpp"

namespace aperture::dense {

/// What kernels of texts can take (TextArguments).
inline constexpr int most_text_batches = 16;
inline constexpr int most_text_parameters = 32;

/// Throws InvalidArgument for all that can be refused without a compiler.
void expects_text(const ElementText& text);

/// Of a batch's problems, as the matrices that they are in a Tile: a vector is a row.
struct MatrixShape {
    core::index_t rows = 1, columns = 1;
    explicit MatrixShape(const TextBatch& batch);
};

/// A kernel file that defines aperture::dense::text_kernel(TextArguments). It depends on neither
/// data nor strides nor values of parameters.
std::string element_source(const ElementText& text);

}  // namespace aperture::dense
