# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
# cmake -D OUT=file -D VERSION=x.y.z -D SOURCE_DIR=dir -P write_version.cmake
execute_process(COMMAND git -C ${SOURCE_DIR} describe --always --dirty --abbrev=12
    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(failed OR commit STREQUAL "")
    set(commit unknown)
endif()
set(text "#pragma once\n#define APERTURE_VERSION \"${VERSION}\"\n#define APERTURE_GIT_COMMIT \"${commit}\"\n")
set(old "")
if(EXISTS ${OUT})
    file(READ ${OUT} old)
endif()
if(NOT text STREQUAL old)
    file(WRITE ${OUT} "${text}")
endif()
