"""When will a queued job start: many simulations from the present state, with runtimes drawn from past runs.

Other folders use ``advice``, ``baselines``, ``forecasts``, ``futures``, ``gaps``, ``history``, ``moments``, ``pasts``,
``priors``, ``requests``, ``sources``, ``states`` and ``telling``.
"""
