@triton_heuristics.pointwise(inductor_meta={'kernel_name': 'triton_per_fused_softmax_2'})
def triton_per_fused_softmax_2(in_ptr0): pass
