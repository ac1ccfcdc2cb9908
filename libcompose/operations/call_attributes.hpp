// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string>
#include <string_view>

#include "aperture/compose/operation.hpp"
#include "aperture/core/choices.hpp"

namespace aperture::compose {

/// Reads the attributes of a call. Throws InvalidArgument for those that the operation does not
/// have, and for words instead of numbers or the other way round.
class CallAttributes {
  public:
    CallAttributes(const CallSite& site, std::initializer_list<std::string_view> known)
        : call_(site.call) {
        for (const auto& [name, value] : call_.attributes) {
            core::expects(std::find(known.begin(), known.end(), name) != known.end(),
                          call_.operation, " has no attribute ", name);
        }
    }

    double number(const std::string& name, double otherwise) const {
        return get<double>(name, "a number", otherwise);
    }
    int integer(const std::string& name, int otherwise) const {
        const double value = number(name, otherwise);
        core::expects(std::abs(value) <= 1e9 && value == std::floor(value), call_.operation, "<",
                      name, " = ", value, ">: expected an integer");
        return static_cast<int>(value);
    }
    template <class Enum, std::size_t count>
    Enum choice(const std::string& name, const core::Choices<Enum, count>& choices,
                Enum otherwise) const {
        return core::parse_choice(
            call_.operation + ": " + name, choices,
            get<std::string>(name, "a word", core::choice_name(choices, otherwise)));
    }

  private:
    template <class T>
    T get(const std::string& name, const char* expected, T otherwise) const {
        const auto found = call_.attributes.find(name);
        if (found == call_.attributes.end()) return otherwise;
        const T* const value = std::get_if<T>(&found->second);
        core::expects(value != nullptr, call_.operation, ": ", name, " is ", expected);
        return *value;
    }

    const Call& call_;
};

}  // namespace aperture::compose
