"""A Slurm cluster of one host, in a folder of its own: no systemd, no munge, private ports."""

import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

CONF = """ClusterName=fabricast
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ctld}
SlurmdPort={slurmd}
SlurmUser=root
SlurmdUser=root
AuthType=auth/none
CredType=cred/none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/builtin
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
KillWait=5
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def is_there():
    return os.geteuid() == 0 and all(shutil.which(one) for one in ("slurmctld", "slurmd", "sbatch"))


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class NotHere(Exception):
    """Slurm is installed and does not run on this host."""


class Cluster:
    def __init__(self, folder):
        self.folder = Path(folder)
        for name in ("state", "spool"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        self.conf = self.folder / "slurm.conf"
        self.conf.write_text(
            CONF.format(
                host=socket.gethostname().split(".")[0],
                ctld=free_port(),
                slurmd=free_port(),
                folder=self.folder,
                cpus=os.cpu_count(),
            )
        )
        self.env = {**os.environ, "SLURM_CONF": str(self.conf)}
        self.daemons = []

    def __enter__(self):
        for command in (["slurmctld", "-D", "-c"], ["slurmd", "-D", "-c"]):
            self.daemons.append(
                subprocess.Popen(
                    command, env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
                )
            )
        for _ in range(150):
            said = self.ask("sinfo", "--noheader", "--format=%T", check=False).stdout.strip()
            if said == "idle":
                return self
            time.sleep(0.2)
        logs = [p.read_text()[-2000:] for p in self.folder.glob("*.log")]
        self.__exit__()
        raise NotHere("Slurm does not start: " + "\n".join(logs))

    def __exit__(self, *_):
        for daemon in self.daemons:
            daemon.send_signal(signal.SIGTERM)
        for daemon in self.daemons:
            try:
                daemon.wait(timeout=20)
            except subprocess.TimeoutExpired:
                daemon.kill()

    def ask(self, *command, check=True):
        return subprocess.run(
            command, env=self.env, capture_output=True, text=True, check=check, timeout=120
        )

    def wait_for_a_start(self, job, seconds=60):
        """Until a task of the job has left the queue; it may have ended since."""
        end = time.time() + seconds
        states = ("squeue", "--array", "--noheader", "--format=%T", "--states=all", "--job", job)
        while set(self.ask(*states).stdout.split()) <= {"PENDING"}:
            assert time.time() < end, "no task has started: " + self.ask("squeue").stdout
            time.sleep(0.05)

    def partition(self, state):
        """DOWN: jobs are taken, and wait. UP: they start."""
        self.ask("scontrol", "update", "PartitionName=all", f"State={state}")

    def wait(self, seconds=240):
        """Until no job is left."""
        end = time.time() + seconds
        while self.ask("squeue", "--noheader").stdout.strip():
            assert time.time() < end, self.ask("squeue").stdout
            time.sleep(0.3)

    def told(self):
        """What became of the jobs, for who must find out why they did something else."""
        return self.ask("scontrol", "show", "job", check=False).stdout + "".join(
            (self.folder / f"{one}.log").read_text()[-4000:] for one in ("slurmctld", "slurmd")
        )
