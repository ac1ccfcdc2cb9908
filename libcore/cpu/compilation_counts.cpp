// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <mutex>

#include "libcore/count_compilation.hpp"

namespace aperture::core {

namespace {

struct Counts {
    std::mutex mutex;
    CompilationCounts all;
};

Counts& counts() {
    static Counts of_process;
    return of_process;
}

}  // namespace

CompilationCounts compilation_counts() {
    const std::scoped_lock lock(counts().mutex);
    return counts().all;
}

void count_compilation(const CompilationCounts& more) {
    const std::scoped_lock lock(counts().mutex);
    counts().all.compiled += more.compiled;
    counts().all.from_cache += more.from_cache;
    counts().all.ms += more.ms;
}

}  // namespace aperture::core
