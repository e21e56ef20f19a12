"""Makes 5g-drive.csv from a copy of the data set: python3 5g-drive.py PATH-OF-CICV5G > 5g-drive.csv"""

import pathlib
import sys

RUNS = [f"w2s_n8_v30_run{n:02}" for n in (1, 4, 5, 6, 7, 9, 10)] + [f"s2w_n8_v30_run{n:02}" for n in (1, 2, 3)]
BACK = 7  # ms: half of the shortest round trip, which 5g-drive.toml gives to the way back

print("# 5G private network (n8), a car at 30 km/h between strong and weak signal: delays in ms on the way there.")
print("# Data: CICV5G, CC BY 4.0, changed; see ATTRIBUTION.md.")
print("every 55ms: delay_ms")
for run in RUNS:
    print(f"# {run}")
    (path,) = pathlib.Path(sys.argv[1]).glob(f"**/{run}.txt")
    for row in path.read_text().splitlines()[1:]:
        if row.strip():
            print(int(float(row.split()[2])) - BACK)
