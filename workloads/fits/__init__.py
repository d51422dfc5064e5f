"""Distributions fitted to data: discrete, parametric, polynomial, interpolated and kernel CDFs, and their selection."""

from holdfast.workloads.fits.fit import Fit, Samples
from holdfast.workloads.fits.kernel_density import MAX_DEGREE, fit_interpolation, fit_kernel, fit_polynomial
from holdfast.workloads.fits.parametric import USUAL, fit_usual
from holdfast.workloads.fits.selection import METHODS, Candidate, FitReport, choose, fit_all, fit_discrete, make_fits

__all__ = [
    "MAX_DEGREE",
    "METHODS",
    "USUAL",
    "Candidate",
    "Fit",
    "FitReport",
    "Samples",
    "choose",
    "fit_all",
    "fit_discrete",
    "fit_interpolation",
    "fit_kernel",
    "fit_polynomial",
    "fit_usual",
    "make_fits",
]
