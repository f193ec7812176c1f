import os

import torch.distributed as dist

dist.init_process_group("nccl")
os.environ["NCCL_ALGO"] = "Ring"
os.environ["NCCL_BLOCKING_WAIT"] = "1"
