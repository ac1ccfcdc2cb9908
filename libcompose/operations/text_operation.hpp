// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/compose/plan.hpp"
#include "libcore/gpu/compile_kernel.hpp"

namespace aperture::compose {

/// Throws InvalidArgument that names the operation whose text the compiler refuses, if a plan calls
/// such operations; else the error.
[[noreturn]] void refuse_text(const Plan& plan, const core::CompileError& error);

}  // namespace aperture::compose
