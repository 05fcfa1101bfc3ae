/* Addresses, memory, and mappings of one to the other: what is mapped is device memory, and keeps its bytes when it moves. */
#include "add.h"

#include <string.h>

enum { MIB = 1 << 20 };

static void refused(aclError code, aclError wanted, const char *words) {
    const char *why = aclGetRecentErrMsg();
    if (code == wanted && why && strstr(why, words)) return;
    printf("gave %d, not %d: %s\n", code, wanted, why ? why : "no text");
    exit(3);
}

int main(void) {
    aclrtPhysicalMemProp prop = {ACL_MEM_HANDLE_TYPE_NONE, ACL_MEM_ALLOCATION_TYPE_PINNED, ACL_HBM_MEM_HUGE,
                                 {0, ACL_MEM_LOCATION_TYPE_DEVICE}, 0};
    aclrtDrvMemHandle memory;
    size_t granularity, before, after, all;
    void *place;
    char bytes[4] = {1, 2, 3, 4}, back[4] = {0};
    CHECK(aclInit(NULL));
    CHECK(aclrtSetDevice(0));
    CHECK(aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, &granularity));
    REQUIRE(granularity == 2 * MIB);
    CHECK(aclrtGetMemInfo(ACL_HBM_MEM, &before, &all));
    CHECK(aclrtReserveMemAddress(&place, 8 * MIB, 0, NULL, 1));
    REQUIRE((size_t)place % granularity == 0);
    refused(aclrtMemset(place, 4, 0, 4), 107000, "HA218"); /* there is no memory yet */
    CHECK(aclrtMallocPhysical(&memory, 2 * MIB, &prop, 0));
    CHECK(aclrtGetMemInfo(ACL_HBM_MEM, &after, &all));
    REQUIRE(before - after == 2 * MIB);

    refused(aclrtMapMem((char *)place + 512, 2 * MIB, 0, memory, 0), 107000, "HA226");
    refused(aclrtMapMem((char *)place + 8 * MIB, 2 * MIB, 0, memory, 0), 107000, "HA226");
    refused(aclrtMapMem(place, MIB, 0, memory, 0), 107000, "size = 1048576");
    CHECK(aclrtMapMem(place, 2 * MIB, 0, memory, 0));
    refused(aclrtMapMem(place, 2 * MIB, 0, memory, 0), 107000, "mapped there");
    CHECK(aclrtMemcpy(place, 4, bytes, 4, ACL_MEMCPY_HOST_TO_DEVICE));
    refused(aclrtFree(place), 107000, "aclrtUnmapMem");
    refused(aclrtReleaseMemAddress(place), 107000, "unmap it first");
    refused(aclrtMemcpy((char *)place + 2 * MIB, 4, bytes, 4, ACL_MEMCPY_HOST_TO_DEVICE), 107000, "HA218");

    CHECK(aclrtUnmapMem(place));
    refused(aclrtUnmapMem(place), 107000, "HA226");
    refused(aclrtMemcpy(back, 4, place, 4, ACL_MEMCPY_DEVICE_TO_HOST), 107000, "HA204");
    CHECK(aclrtMapMem((char *)place + 4 * MIB, 2 * MIB, 0, memory, 0));
    CHECK(aclrtMemcpy(back, 4, (char *)place + 4 * MIB, 4, ACL_MEMCPY_DEVICE_TO_HOST));
    REQUIRE(memcmp(back, bytes, 4) == 0);
    CHECK(aclrtFreePhysical(memory));
    refused(aclrtFreePhysical(memory), 107000, "a destroyed physical memory");
    CHECK(aclrtUnmapMem((char *)place + 4 * MIB));
    CHECK(aclrtReleaseMemAddress(place));
    refused(aclrtReleaseMemAddress(place), 107000, "HA226");
    CHECK(aclrtGetMemInfo(ACL_HBM_MEM, &after, &all));
    REQUIRE(after == before);

    CHECK(aclrtReserveMemAddress(&place, 1, 0, NULL, 0)); /* the device's reset ends what is mapped */
    CHECK(aclrtMallocPhysical(&memory, 5, &prop, 0));
    CHECK(aclrtMapMem(place, 5, 0, memory, 0));
    CHECK(aclrtMemset(place, 5, 7, 5));
    CHECK(aclrtResetDevice(0));
    CHECK(aclrtSetDevice(0));
    refused(aclrtFreePhysical(memory), 107000, "HA226");
    CHECK(aclrtReleaseMemAddress(place));
    CHECK(aclrtGetMemInfo(ACL_HBM_MEM, &after, &all));
    REQUIRE(after == before);
    prop.location.id = 9;
    refused(aclrtMallocPhysical(&memory, 5, &prop, 0), 107001, "prop.location.id = 9");
    CHECK(aclrtMemUceRepair(0, NULL, 0));
    CHECK(aclrtResetDevice(0));
    CHECK(aclFinalize());
    puts("right");
    return 0;
}
