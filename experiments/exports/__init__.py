"""Results in the formats of other tools."""

from experiments.exports.formats import EXPORTS, Export, export_recording, export_result

__all__ = ["EXPORTS", "Export", "export_recording", "export_result"]
