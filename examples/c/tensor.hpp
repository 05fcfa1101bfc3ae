// A tensor in device memory with its descriptor and buffer, for the C++ examples.
#pragma once

#include "check.h"

#include <utility>
#include <vector>

class Tensor {
  public:
    Tensor(aclDataType type, std::vector<int64_t> dims, aclFormat format = ACL_FORMAT_ND)
        : desc_(aclCreateTensorDesc(type, static_cast<int>(dims.size()), dims.data(), format)),
          size_(aclGetTensorDescSize(desc_)) {
        CHECK(aclrtMalloc(&data_, size_, ACL_MEM_MALLOC_HUGE_FIRST));
        buffer_ = aclCreateDataBuffer(data_, size_);
    }
    template <class T>
    Tensor(aclDataType type, std::vector<int64_t> dims, const std::vector<T> &values, aclFormat format = ACL_FORMAT_ND)
        : Tensor(type, std::move(dims), format) {
        CHECK(aclrtMemcpy(data_, size_, values.data(), values.size() * sizeof(T), ACL_MEMCPY_HOST_TO_DEVICE));
    }
    ~Tensor() {
        aclDestroyTensorDesc(desc_);
        aclDestroyDataBuffer(buffer_);
        aclrtFree(data_);
    }
    Tensor(const Tensor &) = delete;
    Tensor &operator=(const Tensor &) = delete;

    aclTensorDesc *desc() const { return desc_; }
    aclDataBuffer *buffer() const { return buffer_; }
    template <class T> std::vector<T> values() const {
        std::vector<T> out(size_ / sizeof(T));
        CHECK(aclrtMemcpy(out.data(), size_, data_, size_, ACL_MEMCPY_DEVICE_TO_HOST));
        return out;
    }

  private:
    aclTensorDesc *desc_;
    size_t size_;
    void *data_ = nullptr;
    aclDataBuffer *buffer_ = nullptr;
};
