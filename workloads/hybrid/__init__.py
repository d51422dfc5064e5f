"""From a trace to a hybrid workload: types, overheads and notices.

Other folders use ``assignment``, ``checkpointing``, ``groups``, ``imbalance``, ``notices`` and
``parameters``.
"""
