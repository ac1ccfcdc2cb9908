// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>

#include <atomic>
#include <stdexcept>

#include "python/src/worker.hpp"

namespace aperture::python {
namespace {

std::atomic<bool> has_computed = false;
std::atomic<bool> is_orphan = false;

void after_fork_in_child() {
    if (has_computed) is_orphan = true;
}

}  // namespace

void watch_forks() { pthread_atfork(nullptr, nullptr, after_fork_in_child); }

void expects_no_fork() {
    if (is_orphan) {
        throw std::runtime_error(
            "this process was forked after aperture computed in its parent; start processes by "
            "multiprocessing's 'spawn' or 'forkserver', or fork before the first computation");
    }
    has_computed = true;
}

}  // namespace aperture::python
