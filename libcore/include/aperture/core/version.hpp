// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace aperture::core {

/// The project's version, "0.1.0", and the git commit it was built from ("unknown" outside git).
const char* version();
const char* git_commit();

}  // namespace aperture::core
