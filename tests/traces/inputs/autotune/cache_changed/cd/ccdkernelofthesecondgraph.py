@triton_heuristics.pointwise(inductor_meta={'kernel_name': 'triton_red_fused_native_layer_norm_1'})
def triton_red_fused_native_layer_norm_1(in_ptr0): pass
