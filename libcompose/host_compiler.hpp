// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "libcompose/host_library.hpp"
#include "libcore/gpu/compile_kernel.hpp"

namespace aperture::compose {

/// C++ that is made at run time.
struct HostSource {
    std::string text;
    /// C++ expressions for the functions that the caller wants ("kernel<float, 20>"), at least one.
    std::vector<std::string> functions;
    /// Files that the text may include by their names in quotes, from aperture_embed_kernels. They
    /// live until the program ends.
    std::vector<std::span<const core::KernelText>> texts{};
    /// For the compiler, beside those that every text has.
    std::vector<std::string> options{};
    /// The compiler is killed after this time, which a large program may need on a busy machine.
    std::chrono::milliseconds limit = std::chrono::minutes(5);
};

struct HostCompiled {
    /// Null if this machine cannot compile or load the text.
    std::shared_ptr<const HostLibrary> loaded;
    /// Why there is no library.
    std::string reason{};
    /// From the memory of this process, or from disk.
    bool from_cache = false;
    double ms = 0;
};

/// Compiles a text with this machine's C++ compiler, for this machine's processor, and loads it.
/// The compiler is the one that APERTURE_CXX names by an absolute path; none if that is "off"; by
/// default the first of g++, c++ and clang++ in /usr/bin or /usr/local/bin. The last 128 results
/// are kept in this process, and all on disk (core::CacheFolder); core::compilation_counts() has
/// their number. Multiply-adds are not contracted, and no option lets arithmetic differ from
/// IEEE 754. Returns a reason, for which callers interpret instead, if there is no compiler, or if
/// it, the disk or the loader fails. Throws CompileError if the compiler refuses the text, and
/// InvalidArgument if APERTURE_CXX is a relative path. Thread-safe; what several threads want at
/// once is compiled once.
HostCompiled compile_on_host(const HostSource& source);

/// Vendor, model and features of this machine's processor as the system names them; empty if it
/// does not. Machine code for one processor may not run on another.
const std::string& processor();

}  // namespace aperture::compose
