# cmake/SluiceCuda.cmake - the CUDA language where nvcc is found; SLUICE_CUDA_FOUND says so. Without it all else builds.
# SPDX-License-Identifier: Apache-2.0
option(SLUICE_CUDA "Build the CUDA module where nvcc is found" ON)
set(SLUICE_CUDA_FOUND OFF)
set(SLUICE_CUDA_WITHOUT "SLUICE_CUDA is off")
if(SLUICE_CUDA)
  find_program(SLUICE_NVCC nvcc HINTS ENV CUDACXX ENV CUDA_HOME ENV CUDA_PATH PATH_SUFFIXES bin PATHS /usr/local/cuda/bin
    DOC "CUDA compiler of training on a GPU; empty for none")
  # The program's own C++ compiler may be clang: nvcc takes g++ in every version.
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    set(SLUICE_CUDA_HOST ${CMAKE_CXX_COMPILER})
  else()
    find_program(SLUICE_CUDA_HOST g++ DOC "Host compiler of nvcc")
  endif()
  set(SLUICE_CUDA_WITHOUT "nvcc is not found")
  if(SLUICE_NVCC AND NOT SLUICE_CUDA_HOST)
    set(SLUICE_CUDA_WITHOUT "nvcc has no g++ as host compiler")
  elseif(SLUICE_NVCC)
    # As the language knows it from here on; what the user set stands. 80 is also kept as PTX, for what is later than 9.0.
    if(NOT CMAKE_CUDA_COMPILER)
      set(CMAKE_CUDA_COMPILER ${SLUICE_NVCC})
    endif()
    if(NOT CMAKE_CUDA_HOST_COMPILER)
      set(CMAKE_CUDA_HOST_COMPILER ${SLUICE_CUDA_HOST})
    endif()
    if(NOT CMAKE_CUDA_ARCHITECTURES)
      set(CMAKE_CUDA_ARCHITECTURES 80 90a-real)
    endif()
    find_package(CUDAToolkit 12.4 QUIET)
    set(SLUICE_CUDA_WITHOUT "the toolkit of ${SLUICE_NVCC} is older than 12.4 or has no cuBLASLt")
    if(CUDAToolkit_FOUND AND TARGET CUDA::cublasLt AND TARGET CUDA::cudart_static)
      enable_language(CUDA)
      if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know it of nvcc
        set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
        set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
      endif()
      foreach(config DEBUG RELEASE RELWITHDEBINFO MINSIZEREL)  # device code is never built slow; lines for profilers
        set(CMAKE_CUDA_FLAGS_${config} "-O3 -lineinfo -DNDEBUG")
      endforeach()
      if(CMAKE_CXX_COMPILER_LAUNCHER AND NOT CMAKE_CUDA_COMPILER_LAUNCHER)
        set(CMAKE_CUDA_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
      endif()
      set(SLUICE_CUDA_FOUND ON)
    endif()
  endif()
endif()
if(NOT SLUICE_CUDA_FOUND)
  message(STATUS "Training on a GPU is left out: ${SLUICE_CUDA_WITHOUT}")
endif()

# sluice_cuda_options(target)   how a module with kernels is compiled. No sanitizers: they do not know nvcc's code, and what
# allocates there is the driver.
function(sluice_cuda_options target)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_include_directories(${target} SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:CXX>:-O2;-Wall;-Wextra;-Wshadow;-Wconversion>
    $<$<AND:$<BOOL:${SLUICE_WERROR}>,$<COMPILE_LANGUAGE:CXX>>:-Werror>
    $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr>
    $<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<VERSION_GREATER_EQUAL:${CMAKE_CUDA_COMPILER_VERSION},12.8>>:--compress-mode=size>)
  target_link_options(${target} PRIVATE -Wl,-z,defs)  # what is declared and not written is seen here, not when it is loaded
  target_link_libraries(${target} PRIVATE ${CMAKE_DL_LIBS})
  set_target_properties(${target} PROPERTIES CUDA_STANDARD 20 CUDA_EXTENSIONS OFF
    CUDA_VISIBILITY_PRESET hidden CUDA_RUNTIME_LIBRARY Static)
endfunction()
