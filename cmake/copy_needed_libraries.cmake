# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
# cmake -DEXECUTABLES=a;b -DDIRECTORY=lib -P copy_needed_libraries.cmake
# Copies from an earlier build would conflict with the system's libraries as second candidates.
file(REMOVE_RECURSE ${DIRECTORY})
file(MAKE_DIRECTORY ${DIRECTORY})
file(GET_RUNTIME_DEPENDENCIES
    EXECUTABLES ${EXECUTABLES}
    RESOLVED_DEPENDENCIES_VAR needed
    UNRESOLVED_DEPENDENCIES_VAR missing
    PRE_EXCLUDE_REGEXES "^lib(c|m|dl|rt|pthread|resolv)\\.so" "^ld-linux"
                        "^lib(cuda|cublas|cublasLt|cufft|cusolver|cusparse|nvrtc|nvJitLink)[.-]")
foreach(library ${needed})
    get_filename_component(name ${library} NAME)
    file(REAL_PATH ${library} actual)
    file(COPY_FILE ${actual} ${DIRECTORY}/${name} ONLY_IF_DIFFERENT)
endforeach()
if(missing)
    message(FATAL_ERROR "not found: ${missing}")
endif()
