// Functions of the core that may not be there: null then, and the row says so (200001).
#pragma once

#define WEAK(type, name, ...) extern "C" __attribute__((weak, visibility("default"))) type hacl_##name(__VA_ARGS__);
