// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/executor.hpp"
#include "aperture/dense/element.hpp"

namespace aperture::dense::elements {

/// for_each_element, of the functors of elements_functors.hpp. In a file of its own, because nvcc
/// would read the headers of tests three times.
template <int threads, class Functor, class... Operands>
void run_on_gpu(core::Gpu& gpu, const Functor& functor, const Operands&... operands);

}  // namespace aperture::dense::elements
