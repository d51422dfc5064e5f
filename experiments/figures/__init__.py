"""Pictures, each made from tables or a recording alone.

Other folders use ``planning.costs``, ``planning.loop``, ``planning.losses``, ``planning.plans``, ``planning.waits``,
``recording.portraits``, ``study.bearing``, ``study.courses``, ``study.datasets``, ``study.evaluation``,
``study.evidence``, ``study.front``, ``study.honesty``, ``study.inputs``, ``study.intervals``, ``study.machine``,
``study.marginals``, ``study.mechanisms``, ``study.orders``, ``study.scenarios`` and ``style``.
"""
