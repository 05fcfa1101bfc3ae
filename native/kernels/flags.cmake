# One object a SIMD level, each compiled for its own instructions; dispatch.cpp picks one at run time. No fused multiply-add that the
# source does not ask for: every level gives the same bits (in convolutions every level but scalar).
# -Wno-psabi: vectors never cross a function that is not inlined.
set(loop_options -ffp-contract=off -fno-math-errno -fno-trapping-math -Wno-psabi)
set_source_files_properties(native/kernels/level_scalar.cpp native/kernels/level_neon.cpp PROPERTIES COMPILE_OPTIONS "${loop_options}")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64)$")
  set_source_files_properties(native/kernels/level_avx2.cpp PROPERTIES COMPILE_OPTIONS "${loop_options};-mavx2;-mfma;-mf16c")
  set_source_files_properties(native/kernels/level_avx512.cpp PROPERTIES COMPILE_OPTIONS
    "${loop_options};-mavx512f;-mavx512bw;-mavx512vl;-mavx512dq;-mf16c;-mprefer-vector-width=512")
endif()
