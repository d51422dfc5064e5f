"""What follows from notices, arrivals, outages, failures and cancellations.

Other folders use ``answers``, ``closures``, ``growth``, ``ondemand``, ``outages``, ``startingstate``, ``survival``
and ``withdrawals``.
"""
