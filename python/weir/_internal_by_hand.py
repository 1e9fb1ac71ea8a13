"""Internal names of TensorFlow that the generated table (weir/_internal_names.py) lacks, or that stand for another object.

MODULES names the modules of weir that stand for whole modules of TensorFlow. NAMES: {module: "name=module:attribute"}; an
attribute alone is a public name of weir.
"""

MODULES = {
    "util.nest": "weir.internal.nest",
    "util.tf_inspect": "inspect",
    "util.object_identity": "weir.internal.object_identity",
    "data.util.nest": "weir.internal.data_nest",
    "data.util.structure": "weir.internal.data_structure",
    "data.kernel_tests.test_base": "weir.internal.data_test_base",
    "data.kernel_tests.checkpoint_test_base": "weir.internal.checkpoint_test_base",
    "framework.test_util": "weir.framework.test_util",
    "framework.combinations": "weir.internal.combinations",
    "framework.test_combinations": "weir.internal.combinations",
    "eager.context": "weir.internal.context",
    "framework.dtypes": "weir.internal.dtypes",
    "framework.ops": "weir.internal.ops",
    "ops.list_ops": "weir.internal.list_ops",
    "ops.parallel_for.control_flow_ops": "weir.internal.parallel_for",
    "ops.parallel_for.gradients": "weir.internal.parallel_for",
    "ops.parallel_for.test_util": "weir.internal.parallel_for",
    "client.device_lib": "weir.internal.process",
    "eager.monitoring": "weir.internal.process",
    "framework.common_shapes": "weir.internal.shape_functions",
    "framework.func_graph": "weir.internal.func_graph",
    "framework.op_callbacks": "weir.framework.op_callbacks",
    "ops.control_flow_util": "weir.internal.control_flow",
    "ops.control_flow_util_v2": "weir.internal.control_flow",
    "ops.linalg.linear_operator_test_util": "weir.internal.linear_operator_test_util",
}

# Public namespaces where the names of a module are looked for last.
_RAGGED = ("ragged", "", "math", "nn", "strings", "compat.v1.ragged", "compat.v1")
NAMESPACES = {
    "ops.numpy_ops.np_array_ops": ("experimental.numpy",),
    "ops.numpy_ops.np_arrays": ("experimental.numpy",),
    "ops.numpy_ops.np_config": ("experimental.numpy",),
    "ops.numpy_ops.np_dtypes": ("experimental.numpy",),
    "ops.numpy_ops.np_math_ops": ("experimental.numpy",),
    "ops.numpy_ops.np_random": ("experimental.numpy.random",),
    "ops.numpy_ops.np_utils": ("experimental.numpy",),
    "ops.lookup_ops": ("lookup", "lookup.experimental", "compat.v1.lookup", "compat.v1"),
    "ops.rnn_cell": ("compat.v1.nn.rnn_cell",),
    "ops.distributions.distributions": ("compat.v1.distributions",),
    "ops.summary_ops_v2": ("summary", "summary.experimental", "compat.v1.summary"),
    "ops.metrics_impl": ("compat.v1.metrics",),
    "ops.init_ops": ("compat.v1.initializers", "compat.v1"),
    "ops.image_ops": ("image", "compat.v1.image"),
    "ops.logging_ops": ("compat.v1.summary",),
    "framework.meta_graph": ("compat.v1.train",),
    "saved_model.signature_constants": ("compat.v1.saved_model.signature_constants",),
    "saved_model.tag_constants": ("compat.v1.saved_model.tag_constants",),
    "platform.flags": ("compat.v1.flags",),
    "data.util.options": ("data.experimental",),
    "lib.io.file_io": ("io.gfile", "compat.v1.gfile"),
    "framework.versions": ("version", "sysconfig"),
    "platform.tf_logging": ("compat.v1.logging",),
    "ops.rnn_cell_impl": ("compat.v1.nn.rnn_cell",),
    "ops.linalg_ops_impl": ("linalg", ""),
    "ops.ragged.ragged_tensor_shape": ("compat.v1.ragged", ""),
    "ops.string_ops": ("strings", "compat.v1.strings", "compat.v1"),
    "ops.collective_ops": ("raw_ops",),
    "saved_model.constants": ("saved_model", "compat.v1.saved_model.constants"),
    "saved_model.utils_impl": ("compat.v1.saved_model.utils",),
    "framework.errors": ("errors", "compat.v1.errors"),
    "framework.errors_impl": ("errors", "compat.v1.errors"),
    "data.experimental.ops.cardinality": ("data.experimental",),
    "data.experimental.ops.data_service_ops": ("data.experimental.service",),
    "saved_model.builder_impl": ("compat.v1.saved_model.builder",),
    **{f"keras.{name}": (f"keras.{name}",) for name in (
        "activations", "applications", "callbacks", "constraints", "datasets", "initializers", "layers", "losses", "metrics",
        "models", "optimizers", "preprocessing", "regularizers", "utils", "wrappers", "backend")},
    "keras": ("keras",),
    **{f"ops.ragged.{name}": _RAGGED for name in (
        "ragged_array_ops", "ragged_batch_gather_ops", "ragged_concat_ops", "ragged_conversion_ops", "ragged_functional_ops",
        "ragged_gather_ops", "ragged_getitem", "ragged_map_ops", "ragged_math_ops", "ragged_operators", "ragged_squeeze_op",
        "ragged_string_ops", "ragged_util", "ragged_where_op")},
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
    "framework.tensor_util": "try_evaluate_constant=get_static_value "
        "make_tensor_proto MakeNdarray=make_ndarray constant_value=get_static_value "
                             "is_tensor is_tf_type=is_tensor "
                             "constant_value_as_shape=weir.framework.conversion:static_shape_value",
    "framework.tensor_conversion": "convert_to_tensor_v2=convert_to_tensor "
                                   "convert_to_tensor_v2_with_dispatch=convert_to_tensor "
                                   "convert_to_tensor_v1=compat.v1.convert_to_tensor "
                                   "convert_to_tensor_v1_with_dispatch=compat.v1.convert_to_tensor",
    "framework.tensor_conversion_registry": "convert=convert_to_tensor register_tensor_conversion_function",
    "framework.random_seed": "DEFAULT_GRAPH_SEED=weir._internal:DEFAULT_GRAPH_SEED "
        "set_seed=random.set_seed set_random_seed=compat.v1.set_random_seed "
                             "get_seed=compat.v1.get_seed",
    "framework.importer": "import_graph_def=graph_util.import_graph_def",
    "framework.func_graph": "FuncGraph=weir.framework.graph:FuncGraph",
    "framework.composite_tensor": "CompositeTensor=__internal__.CompositeTensor",
    "framework.type_spec": "TypeSpec type_spec_from_value",
    "framework.sparse_tensor": "is_sparse=weir._internal:is_sparse "
        "SparseTensor SparseTensorSpec SparseTensorValue=compat.v1.SparseTensorValue "
                               "convert_to_tensor_or_sparse_tensor=compat.v1.convert_to_tensor_or_sparse_tensor",
    "framework.indexed_slices": "IndexedSlices IndexedSlicesSpec IndexedSlicesValue=weir.compat.v1.session:IndexedSlicesValue",
    "framework.function": "Defun=weir.compat.v1.defun:Defun",
    "eager.context": "check_alive=weir._internal:none graph_mode=weir._internal:graph_mode context=weir._internal:context "
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
    "ops.ref_variable": "RefVariable=weir.compat.v1.ref_variable:RefVariable is_variable_initialized=compat.v1.is_variable_initialized",
    "ops.resource_variable_ops": "VariableSpec=weir.variable_spec:VariableSpec ResourceVariable=Variable BaseResourceVariable=Variable "
                                 "is_resource_variable=weir._internal:is_variable",
    "ops.state_ops": "variable_op=weir.compat.v1.ref_variable:variable_op "
                     "variable_op_v2=weir.compat.v1.ref_variable:variable_op_v2",
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
    "util.tf_inspect": "getargspec=inspect:getfullargspec",
    "util.compat": "integral_types=compat.integral_types real_types=compat.real_types complex_types=compat.complex_types "
                   "bytes_or_text_types=compat.bytes_or_text_types",
    "util.variable_utils": "convert_variables_to_tensors=weir.internal.values:convert_variables_to_tensors",
    "util.function_utils": "fn_args=weir.internal.functions:fn_args has_kwargs=weir.internal.functions:has_kwargs "
                           "get_func_name=weir.internal.functions:get_func_name "
                           "get_func_code=weir.internal.functions:get_func_code",
    "util.lazy_loader": "LazyLoader=weir.internal.functions:LazyLoader",
    "util.tf_export": "tf_export=weir.internal.functions:tf_export keras_export=weir.internal.functions:tf_export",
    "util.deprecation": "deprecated=weir.internal.functions:deprecated deprecated_args=weir.internal.functions:deprecated "
                        "deprecated_arg_values=weir.internal.functions:deprecated silence=weir.internal.functions:silence "
                        "deprecated_endpoints=weir.internal.functions:deprecated "
                        "deprecated_argument_lookup=weir.internal.functions:deprecated_argument_lookup",
    "util.tf_contextlib": "contextmanager=contextlib:contextmanager",
    "util.tf_decorator": "make_decorator=__internal__.decorator.make_decorator unwrap=__internal__.decorator.unwrap",
    "data.ops.dataset_ops": "Dataset=data.Dataset DatasetV2=data.Dataset DatasetV1=compat.v1.data.Dataset AUTOTUNE=data.AUTOTUNE "
                            "get_structure=compat.v1.data.get_output_types "
                            "make_one_shot_iterator=compat.v1.data.make_one_shot_iterator "
                            "make_initializable_iterator=compat.v1.data.make_initializable_iterator",
    "data.ops.readers": "TextLineDataset=data.TextLineDataset TFRecordDataset=data.TFRecordDataset "
                        "FixedLengthRecordDataset=data.FixedLengthRecordDataset",
    "module.module": "Module",
    "tf2": "enabled=__internal__.tf2.enabled enable=compat.v1.enable_v2_behavior "
        "disable=compat.v1.disable_v2_behavior",
    "compat.compat": "forward_compatible=compat.forward_compatible "
        "forward_compatibility_horizon=compat.forward_compatibility_horizon",
    "compat.v2_compat": "disable_v2_behavior=compat.v1.disable_v2_behavior enable_v2_behavior=compat.v1.enable_v2_behavior",
    "eager.core": "_NotOkStatusException=weir.framework.errors:OpError",
    "eager.cancellation": "CancellationManager=weir._internal:none",
    "framework.device": "canonical_name=weir.internal.functions:canonical_name merge_device=weir._internal:none "
        "is_device_spec=weir.internal.functions:is_device_spec DeviceSpec",
    "framework.smart_cond": "smart_constant_value=weir.internal.functions:smart_constant_value",
    "framework.convert_to_constants": "convert_variables_to_constants_v2=weir.saved_model.freeze:convert_variables_to_constants_v2 "
        "convert_variables_to_constants=compat.v1.graph_util.convert_variables_to_constants",
    "client.session": "BaseSession=compat.v1.Session SessionInterface=compat.v1.Session",
    "data.experimental.ops.cardinality": "INFINITE=data.INFINITE_CARDINALITY UNKNOWN=data.UNKNOWN_CARDINALITY",
    "data.ops.iterator_ops": "OwnedIterator=data.Iterator IteratorBase=data.Iterator",
    "data.util.random_seed": "get_seed=weir.internal.functions:data_seed",
    "ops.array_ops": "newaxis constant get_positive_axis=weir.internal.shape_functions:get_positive_axis "
        "shape_internal=weir.internal.shape_functions:shape_internal "
        "size_internal=weir.internal.shape_functions:size_internal "
        "rank_internal=weir.internal.shape_functions:rank_internal "
        "repeat_with_axis=weir.internal.shape_functions:repeat_with_axis "
        "convert_to_int_tensor=weir.internal.shape_functions:convert_to_int_tensor",
    "ops.math_ops": "mod=compat.v1.mod reduced_shape=weir.internal.shape_functions:reduced_shape "
        "tensor_equals=operator:eq tensor_not_equals=operator:ne invert_=operator:invert and_=operator:and_ "
        "or_=operator:or_ xor_=operator:xor matmul_wrapper=matmul",
    "ops.nn_ops": "log_softmax=compat.v1.nn.log_softmax",
    "ops.nn": "gelu=nn.gelu",
    "ops.gen_image_ops": "rgb_to_hsv=image.rgb_to_hsv",
    "ops.shape_util": "shape_tensor=weir.internal.shape_functions:shape_tensor",
    "ops.weights_broadcast_ops": "broadcast_weights=weir.internal.weights:broadcast_weights "
        "assert_broadcastable=weir.internal.weights:assert_broadcastable",
    "ops.confusion_matrix": "remove_squeezable_dimensions=weir.internal.weights:remove_squeezable_dimensions",
    "ops.variable_scope": "AUTO_REUSE=compat.v1.AUTO_REUSE",
    "ops.cond_v2": "cond_v2=cond",
    "ops.while_v2": "while_loop=while_loop",
    "ops.init_ops": "Initializer=compat.v1.initializers.constant",
    "ops.random_ops_util": "convert_alg_to_int=weir.internal.functions:algorithm_number Algorithm=random.Algorithm",
    "ops.functional_ops": "While=raw_ops.While If=raw_ops.If",
    "platform.build_info": "build_info=weir._internal:build_info",
    "profiler.option_builder": "ProfileOptionBuilder=compat.v1.profiler.ProfileOptionBuilder",
    "profiler.model_analyzer": "profile=compat.v1.profiler.profile Profiler=compat.v1.profiler.Profiler "
        "advise=compat.v1.profiler.advise",
    "util.nest_util": "is_nested=nest.is_nested",
    "util.tf_should_use": "should_use_result=weir.internal.functions:should_use_result",
    "tools.freeze_graph": "freeze_graph=weir.internal.tools:freeze_graph",
    "tools.inspect_checkpoint": "print_tensors_in_checkpoint_file=weir.internal.tools:print_tensors_in_checkpoint_file",
    "tools.saved_model_utils": "get_meta_graph_def=weir.internal.tools:get_meta_graph_def "
        "get_saved_model_tag_sets=weir.internal.tools:get_saved_model_tag_sets "
        "read_saved_model=weir.internal.tools:read_saved_model",
}
