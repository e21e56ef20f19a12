#!/usr/bin/env bash
# A plan on a cluster with Slurm, a share of its runs for each task of the array:
#
#   sbatch --array=1-16 bindings/python/slurm/sweep.sh PLAN FOLDER [OPTIONS OF lab run...]
#   thinstream lab merge PLAN FOLDER/shard-* --out FOLDER/all
#
# A task that is requeued (sbatch --requeue) keeps what it had finished. FOLDER is one that all nodes see.
#SBATCH --cpus-per-task=4
#SBATCH --requeue
set -euo pipefail
plan=$1 folder=$2
shift 2
number=${SLURM_ARRAY_TASK_ID:?run me as a task of an array} of=${SLURM_ARRAY_TASK_COUNT:?}
# Arrays may begin at 0.
number=$((number - ${SLURM_ARRAY_TASK_MIN:-1} + 1))
exec "${THINSTREAM:-thinstream}" lab run "$plan" --shard "$number/$of" --out "$folder/shard-$number" --resume \
  --jobs "${SLURM_CPUS_PER_TASK:-1}" "$@"
