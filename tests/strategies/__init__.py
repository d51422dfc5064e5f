"""What random tests draw: job tables, mixes with stochastic jobs, lives of jobs, outages.

The usual names are here, wherever they are defined.
"""

from tests.strategies.lives import lively_mixes
from tests.strategies.mixes import Mix, mixes
from tests.strategies.outages import outages_for
from tests.strategies.tables import HYBRID, Table, job_tables, random_job_table

__all__ = ["HYBRID", "Mix", "Table", "job_tables", "lively_mixes", "mixes", "outages_for", "random_job_table"]
