// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/core/version.hpp"

#include "aperture_version.hpp"

namespace aperture::core {

const char* version() { return APERTURE_VERSION; }
const char* git_commit() { return APERTURE_GIT_COMMIT; }

}  // namespace aperture::core
