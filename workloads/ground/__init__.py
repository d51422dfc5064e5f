"""What everything stands on: errors, units, quantities, random streams, files and registries.

Other folders use ``documents``, ``errors``, ``fields``, ``files``, ``jobids``, ``jsonitems``, ``lines``,
``longfiles``, ``machinecode``, ``numbers``, ``objectcode``, ``quantities``, ``ranges``, ``registry``, ``rows``,
``sealing``, ``streams``, ``ticks``, ``trust``, ``units`` and ``wording``.
"""
