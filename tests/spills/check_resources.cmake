# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
# cmake -Dreports=FOLDER -Dkernels=FILE -P check_resources.cmake
# Every line of FILE is part of a mangled kernel name. Fails if no kernel in FOLDER/*.ptxas has it,
# or if one that has it spills or uses a stack frame. Kernels are tuned for compute capability 9.0;
# reports for other architectures are ignored.

file(GLOB report_files ${reports}/*.ptxas)
set(entries "")
foreach(report ${report_files})
    file(STRINGS ${report} lines
         REGEX "Compiling entry|Function properties for|bytes stack frame")
    set(kernel "")
    set(tuned OFF)
    foreach(line ${lines})
        if(line MATCHES "Compiling entry function '.*' for 'sm_([0-9]+)")
            string(COMPARE EQUAL ${CMAKE_MATCH_1} 90 tuned)
        elseif(tuned AND line MATCHES "Function properties for ([A-Za-z0-9_$]+)")
            set(kernel ${CMAKE_MATCH_1})
        elseif(kernel)
            string(STRIP "${line}" line)
            list(APPEND entries "${kernel}: ${line}")
            set(kernel "")
        endif()
    endforeach()
endforeach()
if(NOT entries)
    message(STATUS "no machine code for 9.0 was built, so nothing is known about it (${reports})")
    return()
endif()

set(clean "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads")
set(faults "")
file(STRINGS ${kernels} names REGEX "^[^#]")
foreach(name ${names})
    set(found ${entries})
    list(FILTER found INCLUDE REGEX "${name}")
    if(NOT found)
        list(APPEND faults "${name}: no such kernel")
    endif()
    list(FILTER found EXCLUDE REGEX ": ${clean}$")
    list(APPEND faults ${found})
endforeach()
if(faults)
    list(JOIN faults "\n  " faults)
    message(FATAL_ERROR "kernels that spill, use a stack frame, or are not there:\n  ${faults}")
endif()
