#!/bin/bash
# Makes the texts beside it: run.sh PYTHON. Paths of the machine and its name are made neutral.
set -u
python=$(realpath -s "$1"); here=$(realpath "$(dirname "$0")"); out=$(dirname "$here"); prefix=$(dirname "$(dirname "$python")")
library=$("$python" -c 'import sys; print(sys.base_prefix)')
cd "$here" && unset TORCH_TRACE
neutral() { sed -e "s#$prefix#/opt/venv#g; s#$here#/home/user/job#g; s#$library#/usr#g; s#\b$(hostname -f)\b#node1#g" "$1" >"$2"; rm "$1"; }
export TORCH_LOGS=graph_code,guards OMP_NUM_THREADS=1
for end in recorded segfault; do
  "$prefix/bin/torchrun" --nproc-per-node 2 --master-port 29555 ranks.py $end >raw 2>&1; neutral raw "$out/torchrun_$end.txt"
done
"$prefix/bin/torchrun" --nproc-per-node 2 --master-port 29555 --tee 3 ranks.py recorded >raw 2>&1; neutral raw "$out/torchrun_tee.txt"
for end in printed group chained interrupt thread fatal; do
  "$python" failures.py $end >raw 2>&1; neutral raw "$out/$end.txt"
done
printf 'def step(x:\n    return x\n' >broken.py; "$python" broken.py >raw 2>&1; rm broken.py; neutral raw "$out/syntax.txt"
for name in KILL SEGV BUS ABRT TERM; do bash -c "bash -c 'kill -$name \$\$'; true"; done >raw 2>&1
neutral raw "$out/signals.txt"
