// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace aperture::core {

/// The project's version, "0.1.0", and the git commit it was built from ("unknown" outside git).
const char* version();
const char* git_commit();

/// "g++ 12.2.0", and the CUDA toolkit's version, "13.0.88", empty in a build without CUDA.
const char* compiler();
const char* cuda_version();

}  // namespace aperture::core
