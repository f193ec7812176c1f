import os

os.environ.update({"NCCL_ALGO": "Ring", "NCCL_IB_TC": 106, **more})
os.environ |= {"NCCL_BUFFSIZE": "4M", "NCCL_NTHREADS": str(n)}
os.environ["NCCL_DEBUG_FILE"] = 1
