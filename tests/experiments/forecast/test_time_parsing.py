"""Times of a log as people write them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from holdfast.experiments.forecast.time_parsing import format_moment, parse_moment
from holdfast.workloads.ground.errors import InputError, ParameterError
from holdfast.workloads.logs.trace import Trace, TraceJob

JOBS = (TraceJob(1, 3600.0, 4, 60.0, 60.0), TraceJob(2, 9000.0, 4, 60.0, 60.0))
#: Its clock stands at 0 on 1 March 2022, and its first submit is an hour later.
DATED = Trace(JOBS, nodes=8, header={"UnixStartTime": str(int(datetime(2022, 3, 1, tzinfo=UTC).timestamp()))})
UNDATED = Trace(JOBS, nodes=8, source="a.swf")


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("0", 3600.0),
        ("20d", 3600.0 + 20 * 86400),
        ("90m", 3600.0 + 5400),
        ("2022-03-01T12:00", 12 * 3600.0),
        ("2022-03-02", 86400.0),
        ("2022-03-01T12:00+02:00", 10 * 3600.0),
    ],
)
def test_a_duration_after_the_first_submit_or_a_date(text: str, time: float) -> None:
    assert parse_moment(text, DATED, "--at") == time


def test_what_is_no_time_is_refused_and_so_is_a_date_without_a_calendar() -> None:
    for wrong in ("noon", "2022-13-01", "20 parsecs", ""):
        with pytest.raises(ParameterError, match="--at must be a time after the first submit, such as 20d"):
            parse_moment(wrong, DATED, "--at")
    with pytest.raises(InputError, match=r"--at: 2022-03-02 is a date, but a\.swf has no dates; give a duration"):
        parse_moment("2022-03-02", UNDATED, "--at")


def test_a_time_is_printed_as_it_would_be_written() -> None:
    assert format_moment(86400.0, DATED) == "2022-03-02 00:00 UTC"
    assert format_moment(3600.0 * 2.5, UNDATED) == "1.5 h after the first submit"
