# Defines the INTERFACE target `nvml_header` (NVIDIA's nvml.h on the include path, as a system header) and the
# variable NVML_INCLUDE_DIR. Include it from any folder; the header is fetched once into the project's cache.
include_guard(GLOBAL)
if(NOT EXISTS "${NVML_INCLUDE_DIR}/nvml.h")
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  execute_process(COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/fetch_nvml_header.py
                  OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "nvml.h could not be fetched (cmake/fetch_nvml_header.py)")
  endif()
  set(NVML_INCLUDE_DIR ${found} CACHE PATH "folder of NVIDIA's nvml.h" FORCE)
endif()
add_library(nvml_header INTERFACE)
target_include_directories(nvml_header SYSTEM INTERFACE ${NVML_INCLUDE_DIR})
