"""Sixty wrong inputs over all commands: one sentence names the remedy, the exit status is 2, and nothing is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.experiments import cli

#: Command lines, and a part of the sentence that says what to do. More are in test_cli (files) and test_hostile_words.
WRONG = (
    ("rnu log.swf", "did you mean run?"),
    ("run log.swf --mechanims N-PAA", "did you mean --mechanism"),
    ("run", "required: INPUT; see 'holdfast run --help'"),
    ("run log.swf --mechanism N-PPA", "did you mean"),
    ("run log.swf --order fcsf", "did you mean fcfs"),
    ("run log.swf --order fcfs,fcfs", "different values separated by commas"),
    ("run log.swf --backfilling eays", "did you mean easy"),
    ("run log.swf --nodes 0", "a whole number of at least 1"),
    ("run log.swf --nodes 1_6", "a whole number"),
    ("run log.swf --warmup soon", "a duration such as 90s, 30m, 12h"),
    ("run log.swf --warmup 400d", "all submits are within"),
    ("run log.swf --warmup 2019-05-05", "has no dates; give a duration"),
    ("run log.swf --seed 3:1", "a range such as 0:10"),
    ("run log.swf --events", "name their directory with -o DIR"),
    ("run log.swf --against order=sjf", "order"),
    ("run log.swf --metrics waits", "did you mean wait"),
    ("run log.swf --where partition", "such as partition=batch,debug"),
    ("run log.swf --where colour=red", "colour"),
    ("run log.swf --unit cpus", "processors"),
    ("run log.swf --starting-state 2019-05-05", "give a duration"),
    ("run log.swf --until -5", "a duration"),
    ("run log.swf --repair 1h", "--repair needs --failure-mtbf"),
    ("run log.swf --placement spread", "--placement needs --machine"),
    ("run log.swf --json .", "is a directory"),
    ("run jobs.csv", "give it with --nodes"),
    ("run none.swf", "none.swf: no such file"),
    ("run prose.txt", "choose one with --format"),
    ("info", "required: TRACE"),
    ("info log.swf --format swff", "did you mean swf"),
    ("info prose.txt", "format not recognised; choose one with --format"),
    ("info log.swf --columns submit", "submit"),
    ("prepare log.swf", "required: -o/--output"),
    ("prepare log.swf -o out.csv --shares 0.5,0.5", "3 numbers, separated by commas"),
    ("prepare log.swf -o out.csv --notice-mix W9", "W5"),
    ("prepare jobs.csv -o out.csv", "is a job table, but a trace is required"),
    ("generate -o out.json", "a file that ends in .swf, .swf.gz, .csv, .csv.gz or .parquet"),
    ("generate -o out.xyz", "a file that ends in .swf, .swf.gz, .csv, .csv.gz or .parquet"),
    ("generate -o out.CSV", "a file that ends in .swf, .swf.gz, .csv, .csv.gz or .parquet"),
    ("generate -o out.swf.xz", "a file that ends in .swf, .swf.gz, .csv, .csv.gz or .parquet"),
    ("generate -o out.swf --jobs 0", "a whole number of at least 1"),
    ("generate -o out.swf --preset defualt", "did you mean default"),
    ("machine prose.txt", "prose.txt"),
    ("explain none 1", "none"),
    ("explain .", "give a job id, or list the worst jobs with --worst 5"),
    ("gantt none -o out.html", "none"),
    ("picture queue none", "none"),
    ("plot .", "has no tables to draw"),
    ("export . -o out.xyz", "--format"),
    ("verify none", "none"),
    ("compare none", "no such directory; a run of one is written as DIR:RUN"),
    ("compare a b c", "compares two results, not 3"),
    ("compare . . --by colour", "did you mean"),
    ("sweep none.toml -o out", "none.toml: no such file"),
    ("policies --kind odrer", "did you mean order"),
    ("plan", "give either a distribution"),
    ("plan prose.txt", "prose.txt is a file; past runs are given with --runs prose.txt"),
    ("plan exponential", "--mean"),
    ("plan exponentail --mean 1h", "did you mean exponential"),
    ("plan exponential --mean 1h --restart 5m", "give the time to write one with --checkpoint TIME"),
    ("plan exponential --mean 21x", "a duration"),
    ("plan --runs none.txt", "none.txt: no such file"),
    ("plan exponential --mean 1h --nodes 4", "give their file with --costs"),
    ("forecast log.swf", "--at"),
    ("advise log.swf --at 10 --walltime 1h", "--nodes must be given"),
    ("calibrate none.swf -o out.json", "none.swf: no such file"),
    ("fit-costs jobs.csv", "simulate it with 'holdfast run"),
    ("loop log.swf", "--stochastic-share"),
    ("loop log.swf --mechanism all", "--mechanism must be one mechanism"),
    ("submit none.json -o out -- true", "none.json: no such file"),
    ("status none", "none"),
    ("status .", "'holdfast submit' writes one"),
    ("slurm", "required: WORD"),
    ("slurm compar x", "did you mean compare?"),
    ("experiment checkpoint-fig33", "did you mean checkpoint-fig3"),
    ("experiment checkpoint-fig3", "give the directory to write with -o DIR"),
    ("marginals none.swf", "none.swf: no such file"),
    ("completion csh", "one of bash, zsh, fish"),
)


@pytest.mark.parametrize(("line", "remedy"), WRONG, ids=[line for line, _ in WRONG])
def test_one_sentence_names_the_remedy(
    line: str, remedy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    row = "{0} {0} 5 60 4 -1 -1 4 90 -1 1 7 3 -1 -1 -1 -1 -1\n"
    Path("log.swf").write_text("; MaxProcs: 8\n" + "".join(row.format(job) for job in range(1, 6)))
    Path("jobs.csv").write_text("job_id,type,submit,nodes,runtime,walltime\n1,rigid,0,1,60,90\n")
    Path("prose.txt").write_text("To be, or not to be, that is the question:\n")
    before = sorted(Path().rglob("*"))
    try:
        status = cli.main(line.split())
    except SystemExit as ended:  # how argparse refuses
        status = int(str(ended.code))
    error = capsys.readouterr().err
    assert (status, error.count("\n")) == (2, 1), error
    assert error.startswith("holdfast")
    assert ": error: " in error
    assert remedy in error
    assert sorted(Path().rglob("*")) == before


def test_sixty_inputs_over_all_commands_are_tried() -> None:
    assert len(WRONG) >= 60
    # demo, reproduce and whatif are tried where they are tested: their options are those of others.
    assert set(cli.COMMANDS) - {line.split()[0] for line, _ in WRONG} <= {"demo", "reproduce", "whatif"}
