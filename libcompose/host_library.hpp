// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace aperture::compose {

/// Functions in machine code, loaded into this process until the library is destroyed.
class HostLibrary {
  public:
    /// Loads a shared object, from memory or, where the system refuses that, from a private file
    /// that is removed at once. Function i of `functions` is what its `aperture_function_I()`
    /// returns. Null, with a reason, if the object cannot be loaded.
    static std::shared_ptr<const HostLibrary> load(std::string_view object,
                                                   std::vector<std::string> functions,
                                                   std::string& reason);
    HostLibrary(const HostLibrary&) = delete;
    HostLibrary& operator=(const HostLibrary&) = delete;
    ~HostLibrary();

    /// The function that `expression` names, one of HostSource::functions; `Signature` as in the
    /// text: function<void(float*, int)>("scale"). Throws InvalidArgument for other expressions.
    template <class Signature>
    Signature* function(std::string_view expression) const {
        return reinterpret_cast<Signature*>(address(expression));
    }

  private:
    HostLibrary(int descriptor, std::vector<std::string> functions)
        : descriptor_(descriptor), names_(std::move(functions)) {}
    bool open(const char* path, std::string& reason);
    void* address(std::string_view expression) const;

    int descriptor_;  // of the object in memory, or -1
    void* handle_ = nullptr;
    std::vector<std::string> names_;
    std::vector<void*> addresses_;
};

}  // namespace aperture::compose
