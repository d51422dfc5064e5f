"""Files for other tools: SWF, Batsim, Perfetto, and tables with node numbers.

Other folders use this package's own names, and ``formats``.
"""

from experiments.exports.formats import EXPORTS, Export, export_result

__all__ = ["EXPORTS", "Export", "export_result"]
