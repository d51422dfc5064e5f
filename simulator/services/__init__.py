"""What follows from notices, arrivals, outages, failures and cancellations.

Other folders use ``answers``, ``closures``, ``growth``, ``ondemand``, ``outages``, ``resumption``,
``startingstate``, ``survival`` and ``withdrawals``.
"""
