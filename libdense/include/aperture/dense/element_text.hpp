// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "aperture/core/executor.hpp"
#include "aperture/dense/element.hpp"

/// for_each_element with a functor that is text, for callers without a C++ compiler.
namespace aperture::dense {

enum class NumberType { fp32, fp64 };

/// A batch of numbers (no extents), vectors or matrices in the executor's memory.
struct TextBatch {
    std::string name;  ///< in the body
    Access access = Access::in;
    NumberType type = NumberType::fp32;
    void* data = nullptr;  ///< not written if access is in
    core::index_t problems = 0;
    std::vector<core::index_t> extents;  ///< of a problem
    std::vector<core::index_t> strides;  ///< of problems and of each extent, in numbers
};

/// A number that all problems have in common.
struct TextParameter {
    std::string name;
    double value = 0;
};

/// The body of a functor, statements of CUDA C++ that see
///   - each batch by its name, as an Element: p(i, j), x(i), z(); those that are `in` are const;
///   - each parameter by its name, a constant of type T: float if all batches are fp32, else
///   double;
///   - `team`: see for_each_element.
/// "for (int i = 0; i < 5; ++i) x(i) += gain * z();"
struct ElementText {
    std::string body;
    std::vector<TextBatch> batches;         ///< 1 to 16
    std::vector<TextParameter> parameters;  ///< up to 32
    int threads = 1;                        ///< that share an element, as those of for_each_element
};

#if APERTURE_CUDA
/// Calls the body for every problem. It is compiled at the first call with a text, extents, types
/// and threads, and kept; parameters may change. Asynchronous. Throws InvalidArgument for names,
/// extents or strides that cannot be right, and with the compiler's message (lines count from the
/// first of the body) for a body that does not compile; DeviceError without a run-time compiler.
void for_each_element(core::Gpu& gpu, const ElementText& text);
#endif

/// Throws InvalidArgument: there is no compiler for the CPU at run time. Functors in C++
/// (batch_elements.hpp) run there.
[[noreturn]] void for_each_element(core::Cpu& cpu, const ElementText& text);

}  // namespace aperture::dense
