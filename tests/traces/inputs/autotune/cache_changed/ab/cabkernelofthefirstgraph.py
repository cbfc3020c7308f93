@triton_heuristics.pointwise(inductor_meta={'kernel_name': 'triton_poi_fused_add_relu_0'})
def triton_poi_fused_add_relu_0(in_ptr0): pass
