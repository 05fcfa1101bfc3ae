/* A compile function and device binaries, as a program for a card registers them. */
#include "acl/acl.h"
#include "acl/acl_op_compiler.h"

#include <stdio.h>
#include <string.h>

#define EXPECT(call, code)                                                                  \
    do {                                                                                    \
        int got_ = (call);                                                                  \
        if (got_ != (code)) {                                                               \
            printf("line %d: %s gave %d, not %d\n", __LINE__, #call, got_, (int)(code));    \
            return 1;                                                                       \
        }                                                                                   \
    } while (0)

static char binary[64];
static int freed;

static void give_back(void *data, size_t length) { freed += data == binary && length == sizeof binary; }

static aclError choose(int num_inputs, const aclTensorDesc *const inputs[], int num_outputs,
                       const aclTensorDesc *const outputs[], const aclopAttr *attr, aclopKernelDesc *kernel) {
    size_t sizes[] = {128};
    int64_t count = (int64_t)aclGetTensorDescElementCount(inputs[0]);
    if (num_inputs != 1 || num_outputs != 1 || !outputs[0] || attr) return 1;
    EXPECT(aclopSetKernelWorkspaceSizes(kernel, 1, sizes), 0);
    return aclopSetKernelArgs(kernel, count > 4 ? "large" : "small", 1, &count, sizeof count);
}

int main(void) {
    int64_t small_dims[] = {4}, large_dims[] = {8};
    EXPECT(aclInit(NULL), 0);
    const aclTensorDesc *small = aclCreateTensorDesc(ACL_FLOAT, 1, small_dims, ACL_FORMAT_ND);
    const aclTensorDesc *large = aclCreateTensorDesc(ACL_FLOAT, 1, large_dims, ACL_FORMAT_ND);
    EXPECT(aclopUpdateParams("Card", 1, &small, 1, &small, NULL), 100028);
    EXPECT(aclopRegisterCompileFunc("Card", NULL), 100000);
    EXPECT(aclopRegisterCompileFunc("Card", choose), 0);
    EXPECT(aclopRegisterCompileFunc("Card", choose), 100030);
    EXPECT(aclopCreateKernel("Card", "small", "card_small", binary, sizeof binary, ACL_ENGINE_AICORE, give_back), 0);
    EXPECT(aclopCreateKernel("Card", "small", "card_small", binary, sizeof binary, ACL_ENGINE_AICORE, NULL), 100031);
    EXPECT(aclopCreateKernel("Card", "large", "card_large", binary, sizeof binary, ACL_ENGINE_SYS, NULL), 100000);
    EXPECT(aclopUpdateParams("Card", 1, &small, 1, &small, NULL), 0);
    EXPECT(aclopUpdateParams("Card", 1, &large, 1, &large, NULL), 100029);
    EXPECT(strstr(aclGetRecentErrMsg(), "large") != NULL, 1);
    EXPECT(aclopUnregisterCompileFunc("Card"), 0);
    EXPECT(aclopUnregisterCompileFunc("Card"), 100028);
    EXPECT(aclFinalize(), 0);
    EXPECT(freed, 1);
    puts("right");
    return 0;
}
