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

/// The state of a suspended execution: a fiber's, or the host thread's own.
struct Context {
    boost::context::detail::fcontext_t handle = nullptr;
    const void* stack_bottom = nullptr;
    std::size_t stack_size = 0;
    void* fake_stack = nullptr;
};

/// Must run first on a fiber, and after everything that jumps back to it.
inline void arrive(boost::context::detail::transfer_t from, void* fake_stack = nullptr) {
    Context& left = *static_cast<Context*>(from.data);
    left.handle = from.fctx;
#if defined(APERTURE_SANITIZE)
    __sanitizer_finish_switch_fiber(fake_stack, &left.stack_bottom, &left.stack_size);
#else
    static_cast<void>(fake_stack);
#endif
}

/// Runs `to`; returns when something jumps back to `from`.
inline void jump(Context& from, Context& to) {
#if defined(APERTURE_SANITIZE)
    __sanitizer_start_switch_fiber(&from.fake_stack, to.stack_bottom, to.stack_size);
#endif
    arrive(boost::context::detail::jump_fcontext(to.handle, &from), from.fake_stack);
}

/// A stack of its own with a guard page below it, and the execution on it.
class Fiber {
  public:
    Context context;

    explicit Fiber(void (*entry)(boost::context::detail::transfer_t))
        : guard_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))),
          memory_(mmap(nullptr, guard_ + stack_bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
        if (memory_ == MAP_FAILED) throw std::bad_alloc();
        mprotect(memory_, guard_, PROT_NONE);
        context.stack_bottom = bottom();
        context.stack_size = stack_bytes;
        context.handle =
            boost::context::detail::make_fcontext(bottom() + stack_bytes, stack_bytes, entry);
    }
    Fiber(const Fiber&) = delete;
    Fiber& operator=(const Fiber&) = delete;
    ~Fiber() {
#if defined(APERTURE_SANITIZE)
        // The frames of an abandoned fiber leave AddressSanitizer's poison behind.
        __asan_unpoison_memory_region(bottom(), stack_bytes);
#endif
        munmap(memory_, guard_ + stack_bytes);
    }

  private:
    static constexpr std::size_t stack_bytes = 256 * 1024;

    std::byte* bottom() const { return static_cast<std::byte*>(memory_) + guard_; }

    std::size_t guard_;
    void* memory_;
};

}  // namespace aperture::core::simt
