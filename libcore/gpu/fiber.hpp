// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <boost/context/detail/fcontext.hpp>
#include <cstddef>
#include <new>

#if defined(APERTURE_SANITIZE)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace aperture::core::simt {

/// A suspended execution: on a stack of its own, or the host thread's.
struct Fiber {
    boost::context::detail::fcontext_t handle = nullptr;
};

/// Must run first on a fiber, and after everything that jumps back to it.
inline void arrive(boost::context::detail::transfer_t from) {
    static_cast<Fiber*>(from.data)->handle = from.fctx;
}

/// Runs `to`; returns when something jumps back to `from`.
inline void jump(Fiber& from, Fiber& to) {
    arrive(boost::context::detail::jump_fcontext(to.handle, &from));
}

/// The stacks of fibers, each with a guard page below it, in one piece of memory. AddressSanitizer
/// must know on which stack a thread is. It is told of them as one, where the host thread enters
/// and leaves them: to tell it at every jump would take longer than all else a jump does.
class Stacks {
  public:
    explicit Stacks(std::size_t count)
        : count_(count),
          guard_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))),
          memory_(mmap(nullptr, bytes(), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
        if (memory_ == MAP_FAILED) throw std::bad_alloc();
    }
    Stacks(const Stacks&) = delete;
    Stacks& operator=(const Stacks&) = delete;
    ~Stacks() {
#if defined(APERTURE_SANITIZE)
        // The frames of abandoned fibers leave AddressSanitizer's poison behind.
        __asan_unpoison_memory_region(memory_, bytes());
#endif
        munmap(memory_, bytes());
    }

    std::size_t count() const { return count_; }

    /// A fiber on stack `i`. The first are the uppermost: what throws on them leaves less than the
    /// 64 MB above it that AddressSanitizer cleans up at most.
    Fiber fiber(std::size_t i, void (*entry)(boost::context::detail::transfer_t)) {
        std::byte* const guard = static_cast<std::byte*>(memory_) + (count_ - 1 - i) * pitch();
        mprotect(guard, guard_, PROT_NONE);
        return {boost::context::detail::make_fcontext(guard + pitch(), stack_bytes, entry)};
    }

    /// Runs `first` on its stack, and what that jumps to, until something jumps to `host` by leave.
    void enter(Fiber& host, Fiber& first) {
#if defined(APERTURE_SANITIZE)
        __sanitizer_start_switch_fiber(&host_fake_stack_, memory_, bytes());
        entering_ = true;
#endif
        jump(host, first);
#if defined(APERTURE_SANITIZE)
        __sanitizer_finish_switch_fiber(host_fake_stack_, nullptr, nullptr);
#endif
    }
    /// Fibers must call it wherever the host thread may have entered them.
    void entered() {
#if defined(APERTURE_SANITIZE)
        if (entering_) __sanitizer_finish_switch_fiber(nullptr, &host_bottom_, &host_bytes_);
        entering_ = false;
#endif
    }
    void leave(Fiber& from, Fiber& host) {
#if defined(APERTURE_SANITIZE)
        __sanitizer_start_switch_fiber(nullptr, host_bottom_, host_bytes_);
#endif
        jump(from, host);
    }

  private:
    static constexpr std::size_t stack_bytes = 256 * 1024;

    std::size_t pitch() const { return guard_ + stack_bytes; }
    std::size_t bytes() const { return count_ * pitch(); }

    std::size_t count_;
    std::size_t guard_;
    void* memory_;
#if defined(APERTURE_SANITIZE)
    bool entering_ = false;
    void* host_fake_stack_ = nullptr;
    const void* host_bottom_ = nullptr;
    std::size_t host_bytes_ = 0;
#endif
};

}  // namespace aperture::core::simt
