"""Outages before a simulation: their laws, their file, and failures that are drawn at a rate."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from holdfast.workloads.ground.errors import InputError, ParameterError, TraceError
from holdfast.workloads.ground.units import to_ticks
from holdfast.workloads.outages.failures import FailureRate, place_failures
from holdfast.workloads.outages.file import OUTAGE_COLUMNS, read_outages, write_outages
from holdfast.workloads.outages.outage import Outage, OutageKind, check_outages
from tests.places import ROOT
from tests.strategies.outages import outages_for
from tests.strategies.tables import job_tables
from tests.support.jobs import rigid

MAINTENANCE, FAILURE, RESERVATION = OutageKind.MAINTENANCE, OutageKind.FAILURE, OutageKind.RESERVATION


class TestLaws:
    @pytest.mark.parametrize(
        ("outage", "sentence"),
        [
            (Outage("failure", 0, 1, place=0), "kind of outage 1 must be an OutageKind"),  # type: ignore[arg-type]
            (
                Outage(MAINTENANCE, float("nan"), 1),
                "start of outage 1 must be from -1,000,000,000,000 to 1,000,000,000,000 s, not nan",
            ),
            (Outage(MAINTENANCE, 5, 5.0000001), "end of outage 1 must be later than its start of 5 s, and"),
            (Outage(MAINTENANCE, 5, float("inf")), "end of outage 1 must be later"),
            (Outage(MAINTENANCE, 0, 1, 0), "nodes of outage 1 must be a whole number >= 1, not 0"),
            (Outage(MAINTENANCE, 0, 1, 1.5), "nodes of outage 1 must be a whole number"),  # type: ignore[arg-type]
            (Outage(MAINTENANCE, 0, 1, 9), "nodes of outage 1 must be at most the 8 nodes of the machine, not 9"),
            (Outage(MAINTENANCE, 0, 1, running="kill"), "running of outage 1 must be preempt or wait, not 'kill'"),
            (Outage(MAINTENANCE, 5, 6, announced=5.5), "announced of outage 1 must be at most its start of 5 s"),
            (Outage(FAILURE, 5, 6, announced=4, place=0), "announced of outage 1 must be missing for a failure"),
            (Outage(FAILURE, 5, 6), "place of outage 1 must be a number from 0 to below 1 for a failure, not missing"),
            (Outage(FAILURE, 5, 6, place=1.0), "place of outage 1 must be"),
            (Outage(MAINTENANCE, 5, 6, place=0.5), "place of outage 1 must be missing for a maintenance, not 0.5"),
            (Outage(RESERVATION, 5, 6), "jobs of outage 1 must be given for a reservation, or users or projects"),
            (Outage(FAILURE, 5, 6, place=0, users=("u",)), "users of outage 1 must be missing for a failure"),
            (Outage(MAINTENANCE, "x", 6), "start of outage 1 must be"),  # type: ignore[arg-type]
            (Outage(FAILURE, 5, 6, place="x"), "outage 1 holds a value of the wrong kind"),  # type: ignore[arg-type]
        ],
    )
    def test_each_has_its_sentence(self, outage: Outage, sentence: str) -> None:
        with pytest.raises(InputError) as error:
            check_outages([outage], 8)
        assert sentence in str(error.value)
        assert "\n" not in str(error.value)

    def test_windows_that_overlap_fit_on_the_machine(self) -> None:
        first, second = Outage(MAINTENANCE, 0, 100, 5), Outage(RESERVATION, 50, 200, 4, jobs=(1,))
        check_outages([first, second], 9)
        # One may begin when another ends; failures need no room.
        check_outages([first, replace(second, start=100), Outage(FAILURE, 0, 300, 8, place=0)], 8)
        with pytest.raises(InputError, match=r"outage 2 must leave room .* at 50 s they take 9 of the 8 nodes"):
            check_outages([first, second], 8)

    def test_jobs_of_a_reservation_are_in_the_table(self) -> None:
        booked = Outage(RESERVATION, 5, 6, jobs=(1, 2))
        check_outages([booked], 4, [rigid(1, 0, 1, 5), rigid(2, 0, 1, 5)])
        with pytest.raises(InputError, match="there is no job 2"):
            check_outages([booked], 4, [rigid(1, 0, 1, 5)])

    def test_whose_reservation_it_is(self) -> None:
        booked = Outage(RESERVATION, 5, 6, jobs=(1,), users=("anna",), projects=("p",))
        job = rigid(2, 0, 1, 5)
        assert booked.admits(replace(job, job_id=1))
        assert booked.admits(replace(job, user="anna"))
        assert booked.admits(replace(job, project="p"))
        assert not booked.admits(replace(job, user="p", project="anna"))
        assert not booked.admits(job), "who has no name is not everybody"


class TestFile:
    @given(data=st.data())
    def test_what_is_written_is_read(self, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
        table = data.draw(job_tables())
        outages = data.draw(outages_for(table.jobs, table.nodes))
        outages.append(Outage(RESERVATION, 1e6, 1e6 + 1, name='two "words", here', users=("a b", "c"), projects=("d",)))
        path = tmp_path_factory.mktemp("outages") / "outages.csv"
        write_outages(outages, path)
        found = read_outages(path, nodes=table.nodes)
        ticks = [
            [to_ticks(time) for time in (item.start, item.end, item.announced or 0.0)] for item in (*outages, *found)
        ]
        assert ticks[: len(outages)] == ticks[len(outages) :]
        plain = [replace(item, start=0.0, end=0.0, announced=None) for item in (*outages, *found)]
        assert plain[: len(outages)] == plain[len(outages) :]
        again = path.with_name("again.csv")
        write_outages(found, again)
        assert again.read_bytes() == path.read_bytes()

    def test_only_four_columns_are_needed(self, tmp_path: Path) -> None:
        path = tmp_path / "o.csv"
        path.write_text("Start, end,kind,nodes\n10,20.5, maintenance,4\n\n-3,7,failure,1\n")
        first, second = read_outages(path, nodes=4, seed=3)
        assert first == Outage(MAINTENANCE, 10.0, 20.5, 4)
        assert second == replace(Outage(FAILURE, -3.0, 7.0), place=second.place)
        # A place that is not told is drawn, and is that of its seed.
        assert second.place is not None
        assert read_outages(path, seed=3)[1].place == second.place
        assert read_outages(path, seed=4)[1].place != second.place

    @pytest.mark.parametrize(
        ("text", "sentence"),
        [
            ("kind,start,end\n", "o.csv:1: a file of outages must have a column nodes, not only kind, start, end"),
            ("kind,start,end,nodes,anounced\n", "o.csv:1: unknown column 'anounced': did you mean announced?"),
            ("kind,start,end,nodes,nodes\n", "o.csv:1: a file of outages must have one column nodes, not 2"),
            ("kind,start,end,nodes\nrepair,1,2,3\n", "o.csv:2: unknown kind 'repair'"),
            ("kind,start,end,nodes\nfailure,1,2\n", "o.csv:2: a row must have 4 cells like the header, not 3"),
            ("kind,start,end,nodes\nfailure,1,x,3\n", "o.csv:2: end must be a finite number, not 'x'"),
            ("kind,start,end,nodes\nfailure,1,2,2.5\n", "o.csv:2: nodes must be a whole number, not '2.5'"),
            ("kind,start,end,nodes\n\nfailure,3,2,1\n", "o.csv:3: end of outage 1 must be later than its start"),
            ('kind,start,end,nodes\nfailure,3,4,"1\n', "o.csv:2: is not CSV"),
            ("kind,start,end,nodes\nmaintenance,3,4,9\n", "o.csv:2: nodes of outage 1 must be at most the 8 nodes"),
            (
                "kind,start,end,nodes\nmaintenance,3,9,5\nmaintenance,4,5,5\n",
                "o.csv:3: nodes of outage 2 must leave room for the windows that it overlaps",
            ),
        ],
    )
    def test_bad_files(self, text: str, sentence: str, tmp_path: Path) -> None:
        path = tmp_path / "o.csv"
        path.write_text(text)
        with pytest.raises(TraceError) as error:
            read_outages(path, nodes=8)
        assert sentence in str(error.value)
        assert "\n" not in str(error.value)

    def test_the_documented_columns_are_those_of_the_file(self) -> None:
        text = (ROOT / "docs" / "commands.md").read_text()
        table = text[text.index("### Outages") :]
        table = table[: table.index("\n## ")]
        for column in OUTAGE_COLUMNS:
            assert f"{column}," in table or f"| {column} |" in table or f", {column} |" in table


class TestRate:
    RATE = FailureRate(mtbf=1000.0, repair=50.0, variation=2.0, seed=1)

    def test_the_process_is_what_it_says(self) -> None:
        """4,000 failures: exponential gaps of 1000 / 20, places even, times to repair with that mean, lognormal."""
        drawn = list(islice(self.RATE.draw(20, 7.0), 4000))
        starts = np.array([7.0, *(outage.start for outage in drawn)])
        assert stats.kstest(np.diff(starts), "expon", (0, 50.0)).pvalue > 0.01
        assert stats.kstest([outage.place for outage in drawn], "uniform").pvalue > 0.01
        lasting = np.array([outage.end - outage.start for outage in drawn])
        spread = np.sqrt(np.log(5.0))
        assert stats.kstest(lasting, "lognorm", (spread, 0, 50.0 / np.sqrt(5.0))).pvalue > 0.01
        assert {outage.nodes for outage in drawn} == {1}
        check_outages(drawn, 20)

    def test_without_variation_each_takes_the_same(self) -> None:
        drawn = list(islice(replace(self.RATE, variation=0.0).draw(20, 0.0), 300))
        assert {round(outage.end - outage.start, 6) for outage in drawn} == {50.0}
        # Other draws are not touched by that.
        assert [item.start for item in drawn] == [item.start for item in islice(self.RATE.draw(20, 0.0), 300)]

    def test_another_seed_is_another_machine(self) -> None:
        first, again, other = (list(islice(replace(self.RATE, seed=seed).draw(20, 0.0), 5)) for seed in (1, 1, 2))
        assert first == again
        assert first != other

    @pytest.mark.parametrize(
        ("values", "sentence"),
        [
            ({"mtbf": 0}, "mtbf must be from 0.000001 to 1,000,000,000,000 s, not 0"),
            ({"mtbf": float("inf")}, "mtbf must be"),
            ({"mtbf": 1, "repair": -1}, "repair must be from 0.000001 to 1,000,000,000,000 s, not -1"),
            ({"mtbf": 1, "variation": -0.1}, "variation must be a number from 0 to 1,000, not -0.1"),
            ({"mtbf": 1, "seed": -1}, "seed must be a whole number >= 0, not -1"),
        ],
    )
    def test_bad_values(self, values: dict[str, float], sentence: str) -> None:
        with pytest.raises(ParameterError, match=sentence):
            FailureRate(**values)  # type: ignore[arg-type]

    def test_places_are_drawn_where_they_are_missing(self) -> None:
        outages = [Outage(FAILURE, 0, 1), Outage(FAILURE, 0, 1, place=0.25), Outage(MAINTENANCE, 0, 1)]
        found = place_failures(outages, 5)
        assert found[1:] == outages[1:]
        assert found[0].place is not None
        check_outages(found)
