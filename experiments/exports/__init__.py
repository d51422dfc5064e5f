"""Files for other tools: SWF, Batsim, Perfetto, and tables with node numbers."""

from holdfast.experiments.exports.formats import EXPORTS, Export, export_result

__all__ = ["EXPORTS", "Export", "export_result"]
