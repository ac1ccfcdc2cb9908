// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

namespace aperture::core {

/// Deletes an object of a class that is incomplete where its owner is destroyed or moved.
template <class T>
struct Destroy {
    void (*destroy)(T*) = nullptr;
    void operator()(T* object) const { destroy(object); }
};

/// What a class keeps in its library: as std::unique_ptr, but the class needs no destructor and no
/// moves of its own.
template <class T>
using Owned = std::unique_ptr<T, Destroy<T>>;

/// Owns `object`; called where T is complete.
template <class T>
Owned<T> owned(std::unique_ptr<T> object) {
    return {object.release(), {[](T* last) { delete last; }}};
}

}  // namespace aperture::core
