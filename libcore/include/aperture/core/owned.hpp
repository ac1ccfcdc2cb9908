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

/// The hidden part of a class that users move, whose type is complete in the library only. As
/// std::unique_ptr, but the class need not declare its destructor and moves, and the library need
/// not define them.
template <class T>
using Owned = std::unique_ptr<T, Destroy<T>>;

/// Owns `object`; called where T is complete.
template <class T>
Owned<T> owned(std::unique_ptr<T> object) {
    return {object.release(), {[](T* last) { delete last; }}};
}

}  // namespace aperture::core
