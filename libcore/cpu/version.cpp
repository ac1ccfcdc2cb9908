// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/core/version.hpp"

#include "aperture_version.hpp"

namespace aperture::core {

const char* version() { return APERTURE_VERSION; }
const char* git_commit() { return APERTURE_GIT_COMMIT; }

const char* compiler() {
#if defined(__clang__)
    return "clang " __clang_version__;
#else
    return "g++ " __VERSION__;
#endif
}
const char* cuda_version() { return APERTURE_CUDA_VERSION; }

}  // namespace aperture::core
