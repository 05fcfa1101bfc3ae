"""NonZero, whose output size depends on its data: ask infer_shape for a range, describe the maximum, read the true dims."""

import numpy as np
from common import ACL_INT64, ACL_MEMTYPE_HOST, DTYPES, Tensor, check, compile_op, device, execute, expect

import acl

ACL_FORMAT_ND, ACL_FORMAT_UNDEFINED, ACL_DT_UNDEFINED = 2, -1, -1


def largest_shape(op_type, array, attr):
    """The output's dims as infer_shape gives them, an upper bound where it knows only a range. The data lie in host memory."""
    desc = acl.create_tensor_desc(DTYPES[array.dtype.name], list(array.shape), ACL_FORMAT_ND)
    check(acl.set_tensor_place_ment(desc, ACL_MEMTYPE_HOST), "acl.set_tensor_place_ment")
    buffer = acl.create_data_buffer(acl.util.numpy_to_ptr(array), array.nbytes)
    output = acl.create_tensor_desc(ACL_DT_UNDEFINED, [], ACL_FORMAT_UNDEFINED)
    check(acl.op.infer_shape(op_type, [desc], [buffer], 1, [output], attr), "acl.op.infer_shape")
    shape = []
    for index in range(acl.get_tensor_desc_num_dims(output)):
        dim, ret = acl.get_tensor_desc_dim_v2(output, index)
        check(ret, "acl.get_tensor_desc_dim_v2")
        if dim == -1:
            dim_range, ret = acl.get_tensor_desc_dim_range(output, index, 2)
            check(ret, "acl.get_tensor_desc_dim_range")
            print(f"dim {index} of the output: {dim_range[0]} to {dim_range[1]}")
            dim = dim_range[1]
        shape.append(dim)
    check(acl.destroy_data_buffer(buffer), "acl.destroy_data_buffer")
    for one in (desc, output):
        acl.destroy_tensor_desc(one)
    return shape


def true_shape(desc):
    """The dims that execute_v2 wrote into a descriptor."""
    return tuple(acl.get_tensor_desc_dim_v2(desc, index)[0] for index in range(acl.get_tensor_desc_num_dims(desc)))


def main():
    values = np.array([[0, 3, 0, 1], [4, 0, 0, 5]], np.float32)
    with device() as stream:
        attr = acl.op.create_attr()
        shape = largest_shape("NonZero", values, attr)
        x, y = Tensor(values), Tensor(np.zeros(shape, np.int64))
        assert acl.get_tensor_desc_type(y.desc) == ACL_INT64
        compile_op("NonZero", [x], [y], attr)
        check(execute("NonZero", [x], [y], attr, stream), "acl.op.execute_v2")  # synchronous: the dims are there
        rows, columns = true_shape(y.desc)
        print(f"described as {tuple(shape)}, the result is {(rows, columns)}")
        expect("NonZero", y.numpy().reshape(-1)[: rows * columns].reshape(rows, columns), np.argwhere(values))
        acl.op.destroy_attr(attr)
        for tensor in (x, y):
            tensor.free()


if __name__ == "__main__":
    main()
