// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace aperture::core {

/// A kernel file embedded in a library: its name in #include directives, and its contents.
struct KernelText {
    const char* name;
    const char* text;
};

}  // namespace aperture::core
