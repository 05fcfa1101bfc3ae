// The C++ names of the graph mode that a client binds when it is loaded. Graphs are not ours: they exist, and fail with a text.
// Written as C functions under their mangled names. The two classes are known from their clients: each holds one
// shared_ptr, which the client's own code copies and destroys.
#include "capi/guard.hpp"

#include <cstring>
#include <map>
#include <memory>
#include <string>

using namespace hostacl;

namespace {

using Text = std::shared_ptr<std::string>;

constexpr uint32_t kGraphFailed = 0xFFFFFFFFu; // what graph functions return when they fail

HACL_INLINE uint32_t no_graphs(const char* function) noexcept {
    guarded(function, [] {
        return fail(200001, "HA109",
                    "not supported: graphs are not built or run here, only single operators; "
                    "for onnxruntime set the provider option enable_cann_graph to 0");
    });
    return kGraphFailed;
}

const char* text_of(const void* self) {
    const Text& held = *static_cast<const Text*>(self);
    return held ? held->c_str() : "";
}

} // namespace

// ge::AscendString::AscendString(const char*): empty when there is no memory for it.
HACL_EXPORT void hacl__ZN2ge12AscendStringC1EPKc(void* self, const char* text) noexcept {
    Text* held = new (self) Text();
    try {
        if (text) *held = std::make_shared<std::string>(text);
    } catch (const std::bad_alloc&) {
        guarded("ge::AscendString", [] { return fail(200000, "HA113", "out of host memory; free some and call again"); });
    }
}

// ge::AscendString::operator<(const AscendString&) const
HACL_EXPORT bool hacl__ZNK2ge12AscendStringltERKS0_(const void* self, const void* other) noexcept {
    return std::strcmp(text_of(self), text_of(other)) < 0;
}

// ge::Graph::Graph(const char*): a graph of nothing.
HACL_EXPORT void hacl__ZN2ge5GraphC1EPKc(void* self, const char*) noexcept { new (self) std::shared_ptr<void>(); }

// ge::aclgrphParseONNXFromMem(const char*, size_t, const std::map<AscendString, AscendString>&, Graph&)
HACL_EXPORT uint32_t hacl__ZN2ge23aclgrphParseONNXFromMemEPKcmRKSt3mapINS_12AscendStringES3_St4lessIS3_ESaISt4pairIKS3_S3_EEERNS_5GraphE(
    const char*, size_t, const void*, void*) noexcept {
    return no_graphs("ge::aclgrphParseONNXFromMem");
}

// ge::aclgrphBuildInitialize(std::map<AscendString, AscendString>&)
HACL_EXPORT uint32_t hacl__ZN2ge22aclgrphBuildInitializeERSt3mapINS_12AscendStringES1_St4lessIS1_ESaISt4pairIKS1_S1_EEE(void*) noexcept {
    return no_graphs("ge::aclgrphBuildInitialize");
}

// ge::aclgrphBuildFinalize(): nothing was begun.
HACL_EXPORT void hacl__ZN2ge20aclgrphBuildFinalizeEv() noexcept {}

// ge::aclgrphBuildModel(const Graph&, const std::map<AscendString, AscendString>&, ModelBufferData&)
HACL_EXPORT uint32_t hacl__ZN2ge17aclgrphBuildModelERKNS_5GraphERKSt3mapINS_12AscendStringES4_St4lessIS4_ESaISt4pairIKS4_S4_EEERNS_15ModelBufferDataE(
    const void*, const void*, void*) noexcept {
    return no_graphs("ge::aclgrphBuildModel");
}

// ge::aclgrphSaveModel(const char*, const ModelBufferData&)
HACL_EXPORT uint32_t hacl__ZN2ge16aclgrphSaveModelEPKcRKNS_15ModelBufferDataE(const char*, const void*) noexcept {
    return no_graphs("ge::aclgrphSaveModel");
}
