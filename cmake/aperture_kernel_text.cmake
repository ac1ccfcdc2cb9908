# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
# Embeds kernel files as text in the library, for the run-time compiler.

# aperture_embed_kernels(TARGET NAMESPACE FILES...)
# Adds to TARGET the function aperture::NAMESPACE::kernel_texts(), which returns the FILES by their
# names in #include: paths from the project's root, or from the folder include/ that contains them.
function(aperture_embed_kernels target namespace)
    set(paths "")
    foreach(file ${ARGN})
        cmake_path(ABSOLUTE_PATH file NORMALIZE)
        list(APPEND paths ${file})
    endforeach()
    string(REPLACE "::" "_" file_name ${namespace})
    set(generated ${CMAKE_CURRENT_BINARY_DIR}/${file_name}_kernel_texts.cpp)
    list(JOIN paths "," joined)
    add_custom_command(OUTPUT ${generated}
        COMMAND ${CMAKE_COMMAND} -Dfiles=${joined} -Dnamespace=${namespace} -Droot=${PROJECT_SOURCE_DIR}
                -Dgenerated=${generated} -P ${CMAKE_CURRENT_FUNCTION_LIST_FILE}
        DEPENDS ${paths} ${CMAKE_CURRENT_FUNCTION_LIST_FILE}
        COMMENT "Embedding the kernels of ${namespace}"
        VERBATIM)
    target_sources(${target} PRIVATE ${generated})
endfunction()

if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
    # Compilers limit the length of one literal, but join adjacent literals.
    set(chunk 12000)
    set(entries "")
    string(REPLACE "," ";" files "${files}")
    foreach(path IN LISTS files)
        file(RELATIVE_PATH name ${root} ${path})
        string(REGEX REPLACE "^lib[a-z]+/include/" "" name "${name}")
        file(READ ${path} contents)
        string(LENGTH "${contents}" length)
        string(APPEND entries "    {\"${name}\",\n")
        set(begin 0)
        while(begin LESS length)
            string(SUBSTRING "${contents}" ${begin} ${chunk} piece)
            string(APPEND entries "     R\"aperture(${piece})aperture\"\n")
            math(EXPR begin "${begin} + ${chunk}")
        endwhile()
        string(APPEND entries "    },\n")
    endforeach()
    file(WRITE ${generated} "#include \"libcore/gpu/compile_kernel.hpp\"\n
namespace aperture::${namespace} {
namespace {
constexpr core::KernelText texts[] = {
${entries}};
}
std::span<const core::KernelText> kernel_texts();
std::span<const core::KernelText> kernel_texts() { return texts; }
}
")
endif()
