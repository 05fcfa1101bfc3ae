// C functions of the core that no header declares: their types, as the rows read them.
#pragma once

#define DECLARE(type, name, ...) extern "C" type hacl_##name(__VA_ARGS__);

// One that pyACL has and this core does not: null, and the row says so (200001).
#define WEAK(type, name, ...) extern "C" __attribute__((weak, visibility("default"))) type hacl_##name(__VA_ARGS__);
