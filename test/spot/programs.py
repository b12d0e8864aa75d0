"""The three programs: what they compute, how a worker runs them, what their files say, and when two results are the same."""
import dataclasses
import os
import re
import shutil
import subprocess


def run(folder, *command):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=os.environ | {"GMX_MAXBACKUP": "-1"})
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stdout[-500:]}{done.stderr[-1500:]}")
    return done.stdout + done.stderr


def text_of(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except FileNotFoundError:
        return ""


def same_file(one, other):
    with open(one, "rb") as a, open(other, "rb") as b:
        return a.read() == b.read()


@dataclasses.dataclass
class Resumption:
    """From where the program went on, after an end before the last step."""
    reached: int  # the last step that its files show
    checkpoint: int  # the last checkpoint before
    resumed: int


class Gromacs:
    """348 molecules of SPC/E water with PME and a thermostat. mdrun itself writes a checkpoint on SIGTERM."""
    name = "gromacs"
    checkpoint = {"request": "Signal"}
    compared = "energies of every frame, coordinates and velocities of every 1000th step (gmx check -tol 0), last coordinates"

    def __init__(self, steps):
        self.steps = steps

    def prepare(self, folder):
        """The box and the run's input, by the package's own tools."""
        with open(f"{folder}/topol.top", "w", encoding="ascii") as file:
            file.write('#include "oplsaa.ff/forcefield.itp"\n#include "oplsaa.ff/spce.itp"\n'
                       "[ system ]\nWater\n[ molecules ]\n")
        with open(f"{folder}/md.mdp", "w", encoding="ascii") as file:
            file.write(f"integrator = md\ndt = 0.002\nnsteps = {self.steps}\n"
                       "nstlog = 500\nnstenergy = 500\nnstcalcenergy = 100\nnstxout = 1000\nnstvout = 1000\n"
                       "coulombtype = PME\nrcoulomb = 0.9\nrvdw = 0.9\n"
                       "tcoupl = v-rescale\ntc-grps = System\ntau-t = 0.5\nref-t = 300\nld-seed = 1993\n"
                       "gen-vel = yes\ngen-temp = 300\ngen-seed = 2007\n")
        run(folder, "gmx", "solvate", "-cs", "spc216.gro", "-box", "2.2", "2.2", "2.2", "-p", "topol.top", "-o", "box.gro")
        run(folder, "gmx", "grompp", "-f", "md.mdp", "-c", "box.gro", "-p", "topol.top", "-o", "topol.tpr")

    def begin(self, inputs, folder):
        shutil.copy(f"{inputs}/topol.tpr", folder)

    def command(self):
        # Without -cpt mdrun would write a checkpoint of its own accord every 15 minutes only. Only standard error says the
        # step from which it goes on.
        return ["sh", "-c", "exec gmx mdrun -nt 1 -reprod -s topol.tpr -cpi state.cpt -cpt 0.1 2>>mdrun.err"]

    def progress(self, folder):
        steps = re.findall(r"^ +Step +Time\n +(\d+)", text_of(f"{folder}/md.log"), re.M)
        return int(steps[-1]) if steps else 0

    def resumptions(self, folder):
        """mdrun appends to its log; steps done twice are cut away from it, so what was reached is the checkpoint at least."""
        found = []
        before, *lives = text_of(f"{folder}/md.log").split("Restarting from checkpoint")
        steps = re.findall(r"\(continuing from step (\d+)", text_of(f"{folder}/mdrun.err"))
        for i, life in enumerate(lives):
            written = re.findall(r"^Writing checkpoint, step (\d+)", before, re.M)
            reached = re.findall(r"^ +Step +Time\n +(\d+)", before, re.M)
            checkpoint = int(written[-1]) if written else 0
            found.append(Resumption(max(int(reached[-1]), checkpoint), checkpoint, int(steps[i]) if i < len(steps) else -1))
            before = life
        return found

    def differences(self, one, other):
        """What is not the same in two folders; empty: nothing."""
        found = []
        for kind, flags in (("ener.edr", ("-e", "-e2")), ("traj.trr", ("-f", "-f2"))):
            text = run(one, "gmx", "check", "-quiet", flags[0], kind, flags[1], f"{other}/{kind}", "-tol", "0", "-abstol", "0")
            lines = [line for line in re.split(r"[\r\n]+", text) if "End of file on" in line
                     or re.search(r"step +\d+:.*step +\d+:", line) or re.search(r"\(.*\) - .*\(.*\)", line)]
            found += [f"{kind}: {line.strip()}" for line in lines[:3]]
        for folder in (one, other):
            if f"Statistics over {self.steps + 1} steps" not in text_of(f"{folder}/md.log"):
                found.append(f"{folder} did not reach step {self.steps}")
        return found if found or same_file(f"{one}/confout.gro", f"{other}/confout.gro") else ["confout.gro"]


class Lammps:
    """A Lennard-Jones melt of 4000 atoms. LAMMPS writes restart files when its script says so; the worker asks it by a file."""
    name = "lammps"
    checkpoint = {"request": "Annotation"}
    compared = "positions and velocities of every atom after the last step, its energies and pressure, at 17 digits"

    def __init__(self, steps):
        self.steps = steps

    def prepare(self, folder):
        # Atoms keep their order and neighbours are found again every 20 steps, so that a run that begins at a checkpoint,
        # which is a multiple of 100 steps, rounds as one that never ended.
        with open(f"{folder}/in.melt", "w", encoding="ascii") as file:
            file.write(f'''units lj
atom_style atomic
atom_modify sort 0 0
if "$(is_file(checkpoint))" then "read_restart checkpoint" else &
  "lattice fcc 0.8442" "region box block 0 10 0 10 0 10" "create_box 1 box" "create_atoms 1 box" &
  "mass 1 1.0" "velocity all create 1.44 87287"
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify every 20 delay 0 check no
fix 1 all nve
thermo 100
thermo_style custom step temp pe ke etotal press
thermo_modify format float %.17g flush yes
variable step equal step
print "resumed at ${{step}}"
variable due equal is_file(asked)||((step%2000)==0)
run {self.steps} upto every 100 """if "${{due}}" then "write_restart checkpoint.new" "shell mv checkpoint.new checkpoint" &
  "shell rm -f asked" 'print "checkpoint of ${{step}}"' """
write_dump all custom end.dump id x y z vx vy vz modify sort id format float %.17g
''')

    def begin(self, inputs, folder):
        shutil.copy(f"{inputs}/in.melt", folder)

    def command(self):
        # A log for each life.
        return ["/spot/checkpointed", "checkpoint", "asked", "sh", "-c",
                'exec lmp -in in.melt -screen none -log "log.$(ls log.* 2>/dev/null | wc -l)"']

    def _logs(self, folder):
        names = (name for name in os.listdir(folder) if re.fullmatch(r"log\.\d+", name))
        return [text_of(f"{folder}/{name}") for name in sorted(names, key=lambda name: int(name[4:]))]

    @staticmethod
    def _steps(log):
        return [(int(step), line) for line, step in re.findall(r"^(\s*(\d+)(?:\s+-?[\d.e+-]+){5})\s*$", log, re.M)]

    def progress(self, folder):
        return max((step for log in self._logs(folder) for step, _ in self._steps(log)), default=0)

    def resumptions(self, folder):
        found, last, logs = [], 0, self._logs(folder)
        for before, life in zip(logs, logs[1:]):
            last = max([last, *(int(step) for step in re.findall(r"^checkpoint of (\d+)", before, re.M))])
            resumed = re.search(r"^resumed at (\d+)", life, re.M)
            reached = max((step for step, _ in self._steps(before)), default=last)
            found.append(Resumption(reached, last, int(resumed[1]) if resumed else -1))
        return found

    def differences(self, one, other):
        last = [self._steps(self._logs(folder)[-1])[-1] for folder in (one, other)]
        found = [f"{folder} did not reach step {self.steps}" for folder, (step, _) in zip((one, other), last) if step != self.steps]
        if last[0][1].split() != last[1][1].split():
            found.append(f"last line: {last[0][1].strip()}; never moved: {last[1][1].strip()}")
        return found if same_file(f"{one}/end.dump", f"{other}/end.dump") else found + ["end.dump"]


class LammpsByCommand(Lammps):
    """The same melt. The kubelet asks for a checkpoint by a command that waits for it; that one is complete, a file says, which
    the node's agent reads. The worker knows no API server."""
    name = "lammps-command"
    checkpoint = {"request": "Command", "command": ["sh", "-c", "touch asked; while [ -e asked ]; do sleep 0.05; done"],
                  "mark": "File"}

    def command(self):
        # The mark is as old as the checkpoint. Process 1 of a container has to pass SIGTERM on.
        return ["sh", "-c", """
mark=$YARDMASTER_CHECKPOINT_MARK
while sleep 0.2; do
  [ -e checkpoint ] && { [ ! -e "$mark" ] || [ checkpoint -nt "$mark" ]; } && touch -r checkpoint "$mark.new" && mv "$mark.new" "$mark"
done &
lmp -in in.melt -screen none -log "log.$(ls log.* 2>/dev/null | wc -l)" &
program=$!
trap 'kill $program' TERM
wait $program
"""]
