// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "aperture/core/shape.hpp"

namespace aperture::core {

/// Allocations made through Array since the program started, per space. A pipeline in its steady
/// state makes none, and tests check this.
std::uint64_t host_allocations();
std::uint64_t device_allocations();

/// How the system may treat the pages of host memory.
enum class Pages {
    pageable,
    /// They stay in main memory ("pinned"), so that copies to and from a GPU are asynchronous. They
    /// take longer to allocate. A build without CUDA has none: DeviceError.
    locked,
};

namespace detail {
void* allocate(Host, std::size_t bytes, Pages pages);
void release(Host, void* block, Pages pages) noexcept;
/// In a build without CUDA the functions that allocate for it throw DeviceError.
void* allocate(Device, std::size_t bytes, Pages pages);
void release(Device, void* block, Pages pages) noexcept;
void lock_pages(void* block, std::size_t bytes);
void unlock_pages(void* block) noexcept;
}  // namespace detail

/// Owns dense memory for a view; move-only, because a copy of this size must be explicit.
/// Host memory is aligned to 64 bytes, device memory to 256. Elements are not initialised.
template <class T, int Rank, class Space = Host, class Layout = Strided>
class Array {
    static_assert(std::is_trivially_copyable_v<T>);

  public:
    Array() = default;
    explicit Array(Extents<Rank> extents) : Array(extents, Pages::pageable) {}
    /// `reshape` keeps the kind of pages. A device has one kind only.
    Array(Extents<Rank> extents, Pages pages)
        : block_(nullptr, Release{pages}), extents_(extents), capacity_(elements_of(extents)) {
        if (capacity_ > 0) {
            const std::size_t bytes = static_cast<std::size_t>(capacity_) * sizeof(T);
            block_.reset(detail::allocate(Space{}, bytes, pages));
        }
    }
    /// The moved-from array is empty.
    Array(Array&& other) noexcept
        : block_(std::move(other.block_)),
          extents_(std::exchange(other.extents_, {})),
          capacity_(std::exchange(other.capacity_, 0)) {}
    Array& operator=(Array&& other) noexcept {
        block_ = std::move(other.block_);
        extents_ = std::exchange(other.extents_, {});
        capacity_ = std::exchange(other.capacity_, 0);
        return *this;
    }

    /// Sets the extents; reallocates, losing the contents, only if the capacity is too small. The
    /// array is empty if the allocation fails.
    void reshape(Extents<Rank> extents) {
        if (elements_of(extents) > capacity_) {
            const Pages pages = block_.get_deleter().pages;
            // The old block is released first, so that memory need not hold both.
            *this = Array(Extents<Rank>{}, pages);
            *this = Array(extents, pages);
        } else {
            extents_ = extents;
        }
    }

    View<T, Rank, Space, Layout> view() { return {data(), extents_}; }
    View<const T, Rank, Space, Layout> view() const { return {data(), extents_}; }
    operator View<T, Rank, Space, Layout>() { return view(); }
    operator View<const T, Rank, Space, Layout>() const { return view(); }

    template <std::convertible_to<index_t>... Index>
    requires(sizeof...(Index) == Rank && std::same_as<Space, Host>) T& operator()(
        Index... position) {
        return view()(position...);
    }
    template <std::convertible_to<index_t>... Index>
    requires(sizeof...(Index) == Rank && std::same_as<Space, Host>) const T& operator()(
        Index... position) const {
        return view()(position...);
    }

    T* data() { return static_cast<T*>(block_.get()); }
    const T* data() const { return static_cast<const T*>(block_.get()); }
    const Extents<Rank>& extent() const { return extents_; }
    index_t size() const {
        index_t product = 1;
        for (index_t e : extents_) product *= e;
        return product;
    }

    T* begin() requires std::same_as<Space, Host> { return data(); }
    T* end() requires std::same_as<Space, Host> { return data() + size(); }
    const T* begin() const requires std::same_as<Space, Host> { return data(); }
    const T* end() const requires std::same_as<Space, Host> { return data() + size(); }

  private:
    static constexpr index_t max_elements =
        static_cast<index_t>(PTRDIFF_MAX / static_cast<std::ptrdiff_t>(sizeof(T)));
    static index_t elements_of(const Extents<Rank>& extents) {
        index_t elements = 1;
        for (index_t e : extents) {
            expects(e >= 0, "array extent ", e, " is negative");
            if (e > 0 && elements > max_elements / e) {
                throw InvalidArgument(text("an array of ", extents_text(extents), " is too large"));
            }
            elements *= e;
        }
        return elements;
    }
    struct Release {
        Pages pages = Pages::pageable;
        void operator()(void* block) const noexcept { detail::release(Space{}, block, pages); }
    };
    std::unique_ptr<void, Release> block_;
    Extents<Rank> extents_{};
    index_t capacity_ = 0;
};

}  // namespace aperture::core
