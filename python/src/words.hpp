// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "aperture/core/choices.hpp"

namespace aperture::python {

namespace nb = nanobind;

/// A property of an enumeration's type, in Python one of its words. `get(object)` returns a
/// reference to it.
template <class Class, class Enum, std::size_t Count, class Get>
void def_choice(Class& bound, const char* name, const core::Choices<Enum, Count>& choices,
                const Get& get) {
    using Object = typename Class::Type;
    bound.def_prop_rw(
        name,
        [choices, get](Object& object) { return core::choice_name(choices, Enum(get(object))); },
        [choices, get, name](Object& object, const std::string& word) {
            get(object) = core::parse_choice(name, choices, word);
        });
}

}  // namespace aperture::python
