@triton_heuristics.pointwise(inductor_meta={'kernel_name': 'triton_poi_fused_mul_3'})
def triton_poi_fused_mul_3(in_ptr0): pass
