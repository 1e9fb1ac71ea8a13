"""Internal names of TensorFlow that the generated table (weir/_internal_names.py) lacks, or that stand for another object.

MODULES names the modules of weir that stand for whole modules of TensorFlow. NAMES: {module: "name=module:attribute"}; an
attribute alone is a public name of weir.
"""

MODULES = {
    "util.nest": "weir.internal.nest",
    "util.object_identity": "weir.internal.object_identity",
    "data.util.nest": "weir.internal.data_nest",
    "data.util.structure": "weir.internal.data_structure",
    "data.kernel_tests.test_base": "weir.internal.data_test_base",
    "data.kernel_tests.checkpoint_test_base": "weir.internal.checkpoint_test_base",
    "framework.test_util": "weir.framework.test_util",
    "framework.combinations": "weir.internal.combinations",
    "framework.test_combinations": "weir.internal.combinations",
    "ops.linalg.linear_operator_test_util": "weir.internal.linear_operator_test_util",
}

NAMES = {
    "framework.ops": "Tensor name_scope=compat.v1.name_scope convert_to_tensor convert_to_tensor_v2=convert_to_tensor "
                     "convert_to_tensor_v1=compat.v1.convert_to_tensor convert_to_tensor_v2_with_dispatch=convert_to_tensor "
                     "convert_to_tensor_v1_with_dispatch=compat.v1.convert_to_tensor device=compat.v1.device "
                     "convert_n_to_tensor=weir.framework.conversion:convert_n_to_tensor "
                     "register_tensor_conversion_function colocate_with=compat.v1.colocate_with "
                     "get_gradient_function=weir.framework.gradient_registry:get_gradient_function "
                     "internal_convert_to_tensor=convert_to_tensor IndexedSlices "
                     "NullContextmanager=contextlib:nullcontext "
                     "control_dependencies=compat.v1.control_dependencies",
    "framework.constant_op": "constant constant_v1=compat.v1.constant is_constant=weir._internal:is_constant",
    "framework.tensor": "Tensor TensorSpec",
    "framework.tensor_spec": "TensorSpec",
    "framework.tensor_shape": "TensorShape TensorShapeV2=TensorShape as_shape=weir.framework.shapes:as_shape "
                              "as_dimension=weir.framework.shapes:as_dimension unknown_shape=weir._internal:unknown_shape "
                              "dimension_value=weir._internal:dimension_value scalar=weir._internal:scalar_shape "
                              "vector=weir._internal:vector_shape matrix=weir._internal:matrix_shape",
    "framework.tensor_util": "make_tensor_proto MakeNdarray=make_ndarray constant_value=get_static_value "
                             "is_tensor is_tf_type=is_tensor "
                             "constant_value_as_shape=weir.framework.conversion:static_shape_value",
    "framework.tensor_conversion": "convert_to_tensor_v2=convert_to_tensor "
                                   "convert_to_tensor_v2_with_dispatch=convert_to_tensor "
                                   "convert_to_tensor_v1=compat.v1.convert_to_tensor "
                                   "convert_to_tensor_v1_with_dispatch=compat.v1.convert_to_tensor",
    "framework.tensor_conversion_registry": "convert=convert_to_tensor register_tensor_conversion_function",
    "framework.random_seed": "set_seed=random.set_seed set_random_seed=compat.v1.set_random_seed "
                             "get_seed=compat.v1.get_seed",
    "framework.importer": "import_graph_def=graph_util.import_graph_def",
    "framework.func_graph": "FuncGraph=weir.framework.graph:FuncGraph",
    "framework.composite_tensor": "CompositeTensor=__internal__.CompositeTensor",
    "framework.type_spec": "TypeSpec type_spec_from_value",
    "framework.sparse_tensor": "SparseTensor SparseTensorSpec SparseTensorValue=compat.v1.SparseTensorValue "
                               "convert_to_tensor_or_sparse_tensor=compat.v1.convert_to_tensor_or_sparse_tensor",
    "framework.indexed_slices": "IndexedSlices IndexedSlicesSpec IndexedSlicesValue=weir.compat.v1.session:IndexedSlicesValue",
    "framework.function": "Defun=weir.compat.v1.defun:Defun",
    "eager.context": "graph_mode=weir._internal:graph_mode context=weir._internal:context "
                     "num_gpus=weir._internal:num_gpus executing_eagerly eager_mode=weir.framework.graph:eager_mode "
                     "device async_wait=weir._internal:async_wait Context=weir._internal:Context "
                     "ensure_initialized=weir._internal:async_wait in_graph_mode=weir._internal:in_graph_mode "
                     "run_eager_op_as_function_enabled=weir._internal:false "
                     "get_server_def=weir._internal:none is_tfrt_enabled=weir._internal:false "
                     "is_custom_device=weir._internal:false",
    "eager.def_function": "function run_functions_eagerly=config.run_functions_eagerly "
                          "functions_run_eagerly=config.functions_run_eagerly",
    "eager.polymorphic_function.polymorphic_function": "function",
    "eager.function": "defun=weir._internal:defun ConcreteFunction=types.experimental.ConcreteFunction",
    "eager.backprop": "GradientTape gradients_function=weir.eager.implicit:gradients_function "
                      "val_and_grad_function=weir.eager.implicit:val_and_grad_function "
                      "implicit_grad=weir.eager.implicit:implicit_grad "
                      "implicit_val_and_grad=weir.eager.implicit:implicit_val_and_grad "
                      "make_vjp=weir.eager.implicit:make_vjp",
    "eager.forwardprop": "ForwardAccumulator=autodiff.ForwardAccumulator",
    "eager.record": "stop_recording=weir.eager.tape:stop_recording",
    "eager.tape": "stop_recording=weir.eager.tape:stop_recording",
    "ops.variables": "Variable VariableV1=compat.v1.Variable",
    "ops.variable_v1": "VariableV1=compat.v1.Variable",
    "ops.ref_variable": "RefVariable=compat.v1.Variable is_variable_initialized=compat.v1.is_variable_initialized",
    "ops.resource_variable_ops": "VariableSpec=weir.variable_spec:VariableSpec ResourceVariable=Variable BaseResourceVariable=Variable "
                                 "is_resource_variable=weir._internal:is_variable",
    "ops.gradients": "gradients=compat.v1.gradients gradients_v2=gradients hessians=compat.v1.hessians "
                     "HessiansV2=hessians UnconnectedGradients AggregationMethod",
    "ops.gradients_impl": "gradients=compat.v1.gradients gradients_v2=gradients hessians=compat.v1.hessians "
                          "HessiansV2=hessians",
    "ops.gradient_checker": "compute_gradient=compat.v1.test.compute_gradient "
                            "compute_gradient_error=compat.v1.test.compute_gradient_error",
    "ops.gradient_checker_v2": "compute_gradient=test.compute_gradient max_error=weir.test:max_error",
    "ops.control_flow_ops": "with_dependencies=weir._internal:with_dependencies cond=compat.v1.cond "
                            "while_loop=compat.v1.while_loop case=compat.v1.case",
    "ops.data_flow_ops": "StagingArea=weir.compat.v1.staging:StagingArea",
    "ops.cond": "cond=compat.v1.cond cond_for_tf_v2=cond",
    "ops.while_loop": "while_loop=compat.v1.while_loop while_loop_v2=while_loop",
    "ops.control_flow_case": "case=compat.v1.case case_v2=case",
    "ops.control_flow_assert": "Assert",
    "ops.control_flow_switch_case": "switch_case",
    "ops.tensor_array_ops": "TensorArray TensorArraySpec",
    "ops.ragged.ragged_tensor": "RaggedTensor RaggedTensorSpec is_ragged=weir._internal:is_ragged",
    "ops.ragged.ragged_factory_ops": "constant=ragged.constant constant_value=compat.v1.ragged.constant_value "
                                     "placeholder=compat.v1.ragged.placeholder",
    "ops.linalg_ops": "matrix_solve=linalg.solve matrix_inverse=linalg.inv matrix_determinant=linalg.det "
                      "cholesky=linalg.cholesky qr=linalg.qr svd=linalg.svd eye norm=compat.v1.norm norm_v2=norm "
                      "matrix_triangular_solve=linalg.triangular_solve self_adjoint_eig=linalg.eigh "
                      "matrix_logarithm=linalg.logm matrix_square_root=linalg.sqrtm matrix_exponential=linalg.expm",
    "platform.googletest": "main=test.main TestCase=test.TestCase GetTempDir=test.get_temp_dir",
    "platform.test": "mock=unittest.mock:",
    "eager.test": "main=test.main TestCase=test.TestCase get_temp_dir=test.get_temp_dir Benchmark=test.Benchmark "
                  "is_gpu_available=test.is_gpu_available gpu_device_name=test.gpu_device_name "
                  "is_built_with_cuda=test.is_built_with_cuda is_built_with_rocm=test.is_built_with_rocm",
    "util.tf_inspect": "getfullargspec=inspect:getfullargspec getargspec=inspect:getfullargspec isfunction=inspect:isfunction "
                       "isclass=inspect:isclass ismethod=inspect:ismethod signature=inspect:signature "
                       "getsource=inspect:getsource getdoc=inspect:getdoc getmro=inspect:getmro FullArgSpec=inspect:FullArgSpec",
    "util.nest": "flatten map_structure=nest.map_structure is_nested=nest.is_nested is_sequence=nest.is_nested "
                 "flatten=nest.flatten pack_sequence_as=nest.pack_sequence_as "
                 "assert_same_structure=nest.assert_same_structure "
                 "flatten_with_joined_string_paths=weir.nest:flatten_with_joined_string_paths",
    "util.compat": "integral_types=compat.integral_types real_types=compat.real_types complex_types=compat.complex_types "
                   "bytes_or_text_types=compat.bytes_or_text_types",
    "util.tf_contextlib": "contextmanager=contextlib:contextmanager",
    "util.tf_decorator": "make_decorator=__internal__.decorator.make_decorator unwrap=__internal__.decorator.unwrap",
    "data.ops.dataset_ops": "Dataset=data.Dataset DatasetV2=data.Dataset DatasetV1=compat.v1.data.Dataset AUTOTUNE=data.AUTOTUNE "
                            "get_structure=compat.v1.data.get_output_types "
                            "make_one_shot_iterator=compat.v1.data.make_one_shot_iterator "
                            "make_initializable_iterator=compat.v1.data.make_initializable_iterator",
    "data.ops.readers": "TextLineDataset=data.TextLineDataset TFRecordDataset=data.TFRecordDataset "
                        "FixedLengthRecordDataset=data.FixedLengthRecordDataset",
    "module.module": "Module",
}
