"""What everything stands on: errors, units, quantities, random streams, files and registries.

Other folders use ``documents``, ``errors``, ``fields``, ``files``, ``importing``, ``jsonitems``, ``lines``,
``longfiles``, ``numbers``, ``quantities``, ``ranges``, ``registry``, ``rows``, ``streams``, ``ticks`` and
``units``.
"""
